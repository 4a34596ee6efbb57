import { ErrorCode } from "@iggy/protocol";
import {
  ClientShutdownError,
  DeserializeError,
  FetchProgressUncertainError,
  IggyError,
  LaneBlockedError,
  PartitionLaneBlockedError,
} from "../errors/index.js";
import { PollingStrategy } from "../values/polling-strategy.js";
import type { Checkpoint } from "../values/position.js";
import type { FaultVerdict } from "./read-scheduler.js";

/** What a failed read means for its partition. */
export type ReadFault =
  /** Passes by itself. */
  | "passing"
  /** Repeats until somebody changes something; too many in a row stop the partition. */
  | "lasting"
  /** The assignment of the group is old. */
  | "not-owned"
  /** This read may have stored its offset; it is never sent again. */
  | "uncertain"
  /** The partition can not be read on from here. */
  | "final";

const lasting: ReadonlySet<number> = new Set([
  ErrorCode.Unauthenticated,
  ErrorCode.Unauthorized,
  ErrorCode.FeatureUnavailable,
  ErrorCode.InvalidCommand,
  ErrorCode.PartitionNotFound,
  ErrorCode.StreamIdNotFound,
  ErrorCode.StreamNameNotFound,
  ErrorCode.TopicIdNotFound,
  ErrorCode.TopicNameNotFound,
]);

/** `isBound`: the read named a history of the partition, so that its loss is final. */
export function faultOf(error: unknown, isBound: boolean): ReadFault {
  if (error instanceof ClientShutdownError || error instanceof DeserializeError) return "final";
  if (error instanceof LaneBlockedError || error instanceof PartitionLaneBlockedError) return "final";
  if (!(error instanceof IggyError)) return "final";
  switch (error.code) {
    case ErrorCode.ConsumerGroupPartitionNotOwned:
    case ErrorCode.ConsumerGroupMemberNotFound:
      return "not-owned";
    case ErrorCode.FetchProgressUncertain:
      return "uncertain";
    case ErrorCode.HistoryUnavailable:
      return isBound ? "final" : "passing";
    default:
      return lasting.has(error.code) ? "lasting" : "passing";
  }
}

/** Doublings of the wait after lasting refusals. */
const maxDoublings = 5;
/** Lasting refusals in a row after which a partition is not read any more. */
const maxLastingFaults = 6;

export interface FaultPolicyParts {
  readonly retryIntervalMs: number;
  readonly lastDelivered: (partitionId: number) => Checkpoint | undefined;
  readonly onRetry: (partitionId: number, error: unknown) => void;
  readonly onStop: (error: unknown) => void;
  readonly onNotOwned: () => void;
  readonly abandon: (operationId: bigint) => void;
}

/** Decides what becomes of a partition after a failed read. */
export class FaultPolicy {
  readonly #parts: FaultPolicyParts;
  readonly #lasting = new Map<number, number>();

  constructor(parts: FaultPolicyParts) {
    this.#parts = parts;
  }

  /** A read succeeded, or the partition starts over. */
  clear(partitionId: number): void {
    this.#lasting.delete(partitionId);
  }

  decide(partitionId: number, error: unknown, isBound: boolean): FaultVerdict {
    const fault = faultOf(error, isBound);
    if (fault === "final") return this.#stop(error);
    this.#parts.onRetry(partitionId, error);
    const afterMs = this.#parts.retryIntervalMs;
    switch (fault) {
      case "passing":
        return { kind: "retry", afterMs };
      case "lasting":
        return this.#afterLasting(partitionId, error);
      case "not-owned": {
        this.#parts.onNotOwned();
        const verdict = this.#afterLasting(partitionId, error);
        return verdict.kind === "stop" ? verdict : { ...verdict, position: PollingStrategy.Next };
      }
      case "uncertain":
        if (error instanceof FetchProgressUncertainError) this.#parts.abandon(error.operationId);
        return { kind: "retry", afterMs, ...this.#behindDelivered(partitionId) };
    }
  }

  #afterLasting(partitionId: number, error: unknown): FaultVerdict {
    const count = (this.#lasting.get(partitionId) ?? 0) + 1;
    this.#lasting.set(partitionId, count);
    if (count >= maxLastingFaults) return this.#stop(error);
    return { kind: "retry", afterMs: this.#parts.retryIntervalMs * 2 ** Math.min(count - 1, maxDoublings) };
  }

  #stop(error: unknown): FaultVerdict {
    this.#parts.onStop(error);
    return { kind: "stop" };
  }

  /** The read may have stored an offset that nobody saw: what lies behind the last delivered message is read again. */
  #behindDelivered(partitionId: number): { readonly position?: PollingStrategy } {
    const last = this.#parts.lastDelivered(partitionId);
    if (last === undefined) return {};
    const bound = { partitionId, context: last.context };
    return { position: PollingStrategy.continuing(PollingStrategy.Offset(last.offset + 1n), bound) };
  }
}
