import { ErrorCode } from "@iggy/protocol";
import type { CreateTopic } from "../../api/topics.js";
import { ValidationError } from "../../errors/index.js";
import { longestTimerMs } from "../../reader/index.js";
import type { Random } from "../../time/backoff.js";
import { integer, wrongType } from "../../values/check.js";
import { type Duration, milliseconds } from "../../values/duration.js";
import { type Id, toIdentifier } from "../../values/id.js";
import { type Partitioning, toPartitioning } from "../../values/partitioning.js";
import type { Received } from "../received.js";

/** What a handler is told beside its message. */
export interface HandlerContext {
  /** 1 for the first call with this message. */
  readonly attempt: number;
  /** Aborts when the result no longer counts: the partition belongs to somebody else, or closing took too long. */
  readonly signal: AbortSignal;
}

/** Does the work of one message. It is done when this returns or resolves. */
export type MessageHandler<Value> = (received: Received<Value>, context: HandlerContext) => unknown;

export interface Backoff {
  /** Pause before the second call, 100 ms without it. */
  readonly initial?: Duration;
  /** Longest pause, 30 s without it. */
  readonly max?: Duration;
  /** How much longer each pause is than the one before, 2 without it. */
  readonly factor?: number;
}

/** Where messages go that can not be handled. */
export interface DeadLetter {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly partitioning?: Partitioning;
  /** Create a missing topic, with these options; one partition without it. `false` creates none. */
  readonly createTopic?: false | Omit<CreateTopic, "streamId" | "name">;
}

export interface RunOptions {
  /** Ends the run: nothing is started any more, and it resolves when what was started has ended. */
  readonly signal?: AbortSignal;
  /** Handlers at work at a time, 1 without it. */
  readonly concurrency?: number;
}

export interface HandleOptions<Value> extends RunOptions {
  /**
   * What stays in order: each partition (the default), each key that the function gives (`undefined` for a message that
   * needs no order), or nothing.
   */
  readonly orderBy?: "partition" | "none" | ((received: Received<Value>) => string | number | bigint | undefined);
  /** Calls per message before it counts as failed, 1 without it. */
  readonly attempts?: number;
  /** Pauses between them, at random between half and the whole of it. Or ms for the attempt that failed. */
  readonly backoff?: Backoff | ((attempt: number, error: unknown) => Duration);
  /** Whether a failure is worth another attempt; each is without it. */
  readonly retryIf?: (error: unknown) => boolean;
  /**
   * Takes failed messages, which then count as handled. Without it the first failed message ends the handling. While
   * the topic takes none, they are tried again and hold their partition back.
   */
  readonly deadLetter?: DeadLetter;
  /** Messages that were taken and are not behind the handled part of their partition, 10,000 without it. */
  readonly pendingMessages?: number;
  /** The same in bytes of payload and headers, 32 MiB without it. */
  readonly pendingBytes?: number;
}

export interface HandleSettings<Value> {
  readonly concurrency: number;
  readonly keyOf: (received: Received<Value>) => string | number | bigint | undefined;
  readonly attempts: number;
  readonly pauseMs: (attempt: number, error: unknown) => number;
  readonly retryIf: (error: unknown) => boolean;
  readonly deadLetter: DeadLetter | undefined;
  readonly pendingMessages: number;
  readonly pendingBytes: number;
  readonly signal: AbortSignal | undefined;
}

const maxConcurrency = 10_000;
const defaultPendingMessages = 10_000;
const defaultPendingBytes = 32 * 1_048_576;

export function handleSettings<Value>(options: HandleOptions<Value>, random: Random): HandleSettings<Value> {
  const { retryIf = () => true, signal } = options;
  if (typeof retryIf !== "function") throw wrongType("retryIf", "a function", retryIf);
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType("signal", "an AbortSignal", signal);
  const concurrency = integer("concurrency", options.concurrency ?? 1, 1, maxConcurrency);
  return {
    concurrency,
    keyOf: keyOf(options.orderBy ?? "partition"),
    attempts: integer("attempts", options.attempts ?? 1, 1, 1_000_000),
    pauseMs: pauses(options.backoff ?? {}, random),
    retryIf,
    deadLetter: options.deadLetter === undefined ? undefined : checkedDeadLetter(options.deadLetter),
    pendingMessages: integer("pendingMessages", options.pendingMessages ?? defaultPendingMessages, 1, 10_000_000),
    pendingBytes: integer("pendingBytes", options.pendingBytes ?? defaultPendingBytes, 1, 2 ** 40),
    signal,
  };
}

function keyOf<Value>(
  orderBy: NonNullable<HandleOptions<Value>["orderBy"]>,
): (received: Received<Value>) => string | number | bigint | undefined {
  if (typeof orderBy === "function") return orderBy;
  switch (orderBy) {
    case "partition":
      return ({ partitionId }) => partitionId;
    case "none":
      return () => undefined;
    default:
      throw new ValidationError(ErrorCode.InvalidConfiguration, 'orderBy takes "partition", "none" or a function');
  }
}

function pauses(
  backoff: NonNullable<HandleOptions<unknown>["backoff"]>,
  random: Random,
): (attempt: number, error: unknown) => number {
  if (typeof backoff === "function") {
    return (attempt, error) => milliseconds("backoff", backoff(attempt, error), 0, longestTimerMs);
  }
  const initialMs = milliseconds("backoff.initial", backoff.initial ?? 100, 0, longestTimerMs);
  const maxMs = milliseconds("backoff.max", backoff.max ?? 30_000, 0, longestTimerMs);
  const { factor = 2 } = backoff;
  if (typeof factor !== "number") throw wrongType("backoff.factor", "a number", factor);
  if (!(factor >= 1 && factor <= 1000)) throw new RangeError(`backoff.factor takes 1 to 1000, got ${String(factor)}`);
  // Messages that failed together do not come back together.
  return (attempt) => Math.min(maxMs, initialMs * factor ** (attempt - 1)) * (0.5 + random() / 2);
}

function checkedDeadLetter(deadLetter: DeadLetter): DeadLetter {
  toIdentifier("deadLetter.streamId", deadLetter.streamId);
  toIdentifier("deadLetter.topicId", deadLetter.topicId);
  if (deadLetter.partitioning !== undefined) toPartitioning(deadLetter.partitioning);
  return deadLetter;
}
