import { ErrorCode } from "@iggy/protocol";
import {
  ClientShutdownError,
  DeserializeError,
  FetchProgressUncertainError,
  IggyError,
  LaneBlockedError,
  PartitionLaneBlockedError,
  ReadError,
  UndecodableMessagesError,
} from "../errors/index.js";
import { PollingStrategy } from "../values/polling-strategy.js";
import type { Checkpoint } from "../values/position.js";
import type { FaultVerdict, ReadTarget } from "./read-scheduler.js";

/** What a failed read means for its partition. */
type ReadFault =
  /** Passes by itself. */
  | "passing"
  /** Repeats until somebody changes something; too many in a row stop the partition. */
  | "lasting"
  /** The assignment of the group is old. */
  | "not-owned"
  /** The session is another one, or the membership is gone. */
  | "membership"
  /** An operation of unknown outcome is in the way; it goes on when that is settled or abandoned. */
  | "blocked"
  /** This read may have stored its offset; it is never sent again. */
  | "uncertain"
  /** A message can not be read; it is tried again until it is skipped. */
  | "unreadable"
  /** The partition can not be read on from here. */
  | "final";

const lasting: ReadonlySet<number> = new Set([
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
function faultOf(error: IggyError, isBound: boolean): ReadFault {
  if (error instanceof ReadError || error instanceof UndecodableMessagesError) return "unreadable";
  if (error instanceof ClientShutdownError || error instanceof DeserializeError) return "final";
  if (error instanceof LaneBlockedError || error instanceof PartitionLaneBlockedError) return "blocked";
  switch (error.code) {
    case ErrorCode.Error:
      return "final";
    case ErrorCode.ConsumerGroupPartitionNotOwned:
      return "not-owned";
    case ErrorCode.ConsumerGroupMemberNotFound:
    case ErrorCode.Disconnected:
    case ErrorCode.StaleClient:
    case ErrorCode.Unauthenticated:
      return "membership";
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
/** Passing faults in a row after which it is said that they last. */
const maxPassingFaults = 3;

export interface FaultPolicyParts {
  readonly retryIntervalMs: number;
  readonly commitsOnRead: boolean;
  readonly lastDelivered: (partitionId: number) => Checkpoint | undefined;
  /** A read failed and is tried again. `lasts`: it failed so several times in a row. */
  readonly report: (error: ReadError, lasts: boolean) => void;
  /** Somebody has to do something. */
  readonly surface: (error: ReadError) => void;
  readonly onAssignmentOld: () => void;
  readonly abandon: (operationId: bigint) => void;
}

/** Decides what becomes of partitions after a failed read. */
export class FaultPolicy {
  readonly #parts: FaultPolicyParts;
  /** Faults in a row, by partition. */
  readonly #streaks = new Map<number, number>();

  constructor(parts: FaultPolicyParts) {
    this.#parts = parts;
  }

  /** A read succeeded, or the partition starts over. */
  clear(partitionId: number): void {
    this.#streaks.delete(partitionId);
  }

  /** One verdict per target of the failed read. */
  decide(targets: readonly ReadTarget[], cause: unknown): readonly FaultVerdict[] {
    const error = asIggyError(cause);
    const isBound = targets.some(({ position }) => position.bound !== undefined);
    const afterMs = this.#parts.retryIntervalMs;
    const streak = targets.reduce((longest, { partitionId }) => Math.max(longest, this.#count(partitionId)), 0);
    switch (faultOf(error, isBound)) {
      case "final":
        this.#parts.surface(readError(targets, error, "stopped until it is sought"));
        return targets.map(() => stop);
      case "passing":
        // A busy server refuses reads that commit in the ordinary course of things.
        if (this.#parts.commitsOnRead && error.code === ErrorCode.TransientNotAccepted)
          return retries(targets, afterMs);
        return this.#retryLater(targets, error, streak);
      case "membership":
        this.#parts.onAssignmentOld();
        return this.#retryLater(targets, error, streak);
      case "lasting":
        return this.#afterLasting(targets, error, streak);
      case "not-owned": {
        this.#parts.onAssignmentOld();
        // Whoever owned it meanwhile may have gone on from there.
        const verdicts = this.#afterLasting(targets, error, streak);
        return verdicts.map((verdict) =>
          verdict.kind === "stop" ? verdict : { ...verdict, position: PollingStrategy.Next },
        );
      }
      case "blocked":
        if (streak === 1) this.#parts.surface(readError(targets, error, "waiting for an operation of unknown outcome"));
        return retries(targets, afterMs);
      case "uncertain":
        this.#parts.report(readError(targets, error, "read again behind the last message"), false);
        if (error instanceof FetchProgressUncertainError) this.#parts.abandon(error.operationId);
        return targets.map(({ partitionId }) => ({
          kind: "retry",
          afterMs,
          ...this.#behindDelivered(partitionId),
        }));
      case "unreadable":
        return this.#afterUnreadable(targets, error);
    }
  }

  #count(partitionId: number): number {
    const count = (this.#streaks.get(partitionId) ?? 0) + 1;
    this.#streaks.set(partitionId, count);
    return count;
  }

  #retryLater(targets: readonly ReadTarget[], error: IggyError, streak: number): readonly FaultVerdict[] {
    const lasts = streak > 0 && streak % maxPassingFaults === 0;
    this.#parts.report(readError(targets, error, "tried again"), lasts);
    return retries(targets, this.#parts.retryIntervalMs);
  }

  #afterLasting(targets: readonly ReadTarget[], error: IggyError, streak: number): readonly FaultVerdict[] {
    if (streak >= maxLastingFaults) {
      this.#parts.surface(readError(targets, error, "stopped until it is sought", { isLastingRefusal: true }));
      return targets.map(() => stop);
    }
    this.#parts.report(readError(targets, error, "tried again"), false);
    return retries(targets, this.#parts.retryIntervalMs * 2 ** Math.min(Math.max(0, streak - 1), maxDoublings));
  }

  #afterUnreadable([target]: readonly ReadTarget[], error: IggyError): readonly FaultVerdict[] {
    if (target === undefined) return [];
    if (error instanceof ReadError) {
      this.#parts.surface(error);
      return retries([target], this.#parts.retryIntervalMs);
    }
    if (!(error instanceof UndecodableMessagesError)) return [stop];
    const { partitionId, position } = target;
    const { context, records, firstOffset } = error.reply;
    const offset = firstOffset ?? (position.kind === "offset" ? position.value : undefined);
    const record = offset === undefined ? { bytes: records } : { offset, bytes: records };
    if (offset === undefined) {
      this.#parts.surface(readError([target], error, "stopped until it is sought", { record }));
      return [stop];
    }
    const skip = PollingStrategy.continuing(PollingStrategy.Offset(offset + 1n), { partitionId, context });
    this.#parts.surface(
      readError([target], error, `message ${String(offset)} can not be read, seek past it`, { record, skip }),
    );
    return retries([target], this.#parts.retryIntervalMs);
  }

  /** The read may have stored an offset that nobody saw: what lies behind the last delivered message is read again. */
  #behindDelivered(partitionId: number): { readonly position?: PollingStrategy } {
    const last = this.#parts.lastDelivered(partitionId);
    if (last === undefined) return {};
    const bound = { partitionId, context: last.context };
    return { position: PollingStrategy.continuing(PollingStrategy.Offset(last.offset + 1n), bound) };
  }
}

const stop: FaultVerdict = { kind: "stop" };

const retries = (targets: readonly ReadTarget[], afterMs: number): readonly FaultVerdict[] =>
  targets.map(() => ({ kind: "retry", afterMs }));

function readError(
  targets: readonly ReadTarget[],
  error: IggyError,
  outcome: string,
  details: Pick<ConstructorParameters<typeof ReadError>[1], "skip" | "record" | "isLastingRefusal"> = {},
): ReadError {
  const [only, ...others] = targets;
  const partitionId = others.length === 0 ? only?.partitionId : undefined;
  const what = partitionId === undefined ? `${String(targets.length)} partitions` : `partition ${String(partitionId)}`;
  return new ReadError(`${what}: ${outcome}`, { partitionId, error, ...details });
}

export const asIggyError = (error: unknown): IggyError =>
  error instanceof IggyError ? error : new IggyError(ErrorCode.Error, "a read failed unexpectedly", { cause: error });
