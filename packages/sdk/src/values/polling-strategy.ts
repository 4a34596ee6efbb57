import { ErrorCode, type PartitionContext, type PollingStrategy as WireStrategy } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { type U64Like, u64 } from "./check.js";
import { contextJson } from "./position.js";

type StrategyKind = WireStrategy["kind"];

/** The history that a continuation belongs to. */
export interface Bound {
  readonly partitionId: number;
  readonly context: PartitionContext;
}

/** Where a read starts. A continuation of an earlier read is bound to the partition and history that it came from. */
export class PollingStrategy {
  readonly kind: StrategyKind;
  readonly value: bigint;
  /** Set on continuations. */
  readonly bound: Bound | undefined;

  private constructor(kind: StrategyKind, value: bigint, bound?: Bound) {
    this.kind = kind;
    this.value = value;
    this.bound = bound;
  }

  /** The oldest message. */
  static readonly First = new PollingStrategy("first", 0n);
  /** The newest messages, as many as the count asks for. */
  static readonly Last = new PollingStrategy("last", 0n);
  /** Behind the stored offset of the consumer; the oldest message without one. */
  static readonly Next = new PollingStrategy("next", 0n);

  static Offset(offset: U64Like): PollingStrategy {
    return new PollingStrategy("offset", u64("offset", offset));
  }

  /** The first batch that the server took at or after this time: µs since the epoch, or a date. */
  static Timestamp(timestamp: U64Like | Date): PollingStrategy {
    const micros =
      timestamp instanceof Date ? u64("timestamp", timestamp.getTime()) * 1000n : u64("timestamp", timestamp);
    return new PollingStrategy("timestamp", micros);
  }

  /** @internal */
  static continuing(start: PollingStrategy, bound: Bound): PollingStrategy {
    return new PollingStrategy(start.kind, start.value, bound);
  }

  toJSON(): Record<string, unknown> {
    return {
      kind: this.kind,
      value: String(this.value),
      ...(this.bound === undefined
        ? {}
        : { partitionId: this.bound.partitionId, context: contextJson(this.bound.context) }),
    };
  }
}

/** Checks that a strategy may start a read of this partition. */
export function checkStrategy(strategy: PollingStrategy, partitionId: number): PollingStrategy {
  if (!(strategy instanceof PollingStrategy)) {
    throw new TypeError("pollingStrategy takes a PollingStrategy");
  }
  if (strategy.bound !== undefined && strategy.bound.partitionId !== partitionId) {
    throw new ValidationError(
      ErrorCode.InvalidCommand,
      `the continuation belongs to partition ${String(strategy.bound.partitionId)}, not ${String(partitionId)}`,
    );
  }
  return strategy;
}
