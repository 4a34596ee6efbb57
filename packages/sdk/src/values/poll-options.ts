import { ErrorCode, MIN_READ_MAX_BYTES } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { type Duration, milliseconds } from "./duration.js";
import { integer } from "./check.js";

/** When a consumer with the policy `Auto` counts a message as consumed. */
export type CommitAfter = "processing" | "delivery" | "marked";

/** Who stores the offsets of a consumer. */
export type CommitPolicy =
  /** The application, with `commit` or `offset.store`. */
  | { readonly kind: "manual" }
  /** The server, as part of each read. A message is delivered at most once. */
  | { readonly kind: "on-read" }
  /** The consumer: every so many messages, every so often, and when it closes. */
  | {
      readonly kind: "auto";
      /** ms between stores; null stores by count only. */
      readonly intervalMs: number | null;
      /** Messages between stores; null stores by time only. */
      readonly everyMessages: number | null;
      /** Stores after each batch. */
      readonly everyBatch: boolean;
      readonly after: CommitAfter;
    };

export interface AutoCommitOptions {
  /** Time between stores, 5 s without it; `null` for none. */
  readonly interval?: Duration | null;
  /** 10,000 messages without it; `null` for none. */
  readonly every?: "message" | "batch" | { readonly messages: number } | null;
  /**
   * `processing` (the default) counts a message when the next one is asked for, `delivery` when it is handed over,
   * `marked` when the application says so with `mark`.
   */
  readonly after?: CommitAfter;
}

function auto(options: AutoCommitOptions = {}): CommitPolicy {
  const { interval = 5000, every = { messages: 10_000 }, after = "processing" } = options;
  if (interval === null && every === null) {
    throw new ValidationError(ErrorCode.InvalidConfiguration, "CommitPolicy.Auto needs an interval or a count");
  }
  return {
    kind: "auto",
    intervalMs: interval === null ? null : milliseconds("interval", interval, 1, 2 ** 31 - 1),
    everyMessages: everyCount(every),
    everyBatch: every === "batch",
    after,
  };
}

function everyCount(every: AutoCommitOptions["every"]): number | null {
  if (every === null || every === undefined || every === "batch") return null;
  return every === "message" ? 1 : integer("every.messages", every.messages, 1, 0xffff_ffff);
}

export const CommitPolicy = {
  Manual: { kind: "manual" },
  OnRead: { kind: "on-read" },
  Auto: auto,
} as const satisfies Record<string, CommitPolicy | ((options?: AutoCommitOptions) => CommitPolicy)>;

/** How much a read returns, and how long it waits. Times are ms or text. */
export interface PollOptions {
  /** Most messages, at least 1; 1000 without it. */
  readonly count?: number;
  /** How long the server waits for `minCount` messages: up to 600 s. It shortens longer waits than its own limit. */
  readonly maxWait?: Duration;
  /** 1 to `count`; 1 without it. */
  readonly minCount?: number;
  /** Bytes of the reply, at least 344; 1 MiB without it. A first message above it comes alone. */
  readonly maxBytes?: number;
  readonly commit?: CommitPolicy;
}

/** Checked options of a read. */
export interface ReadLimits {
  readonly count: number;
  readonly maxWaitMs: number;
  readonly minCount: number;
  readonly maxBytes: number;
  readonly commit: CommitPolicy;
}

const maxWaitLimitMs = 600_000;

export function readLimitsOf(options: PollOptions, defaultMaxWaitMs: number): ReadLimits {
  const count = messagesCount("count", options.count ?? 1000, 0xffff_ffff);
  return {
    count,
    minCount: messagesCount("minCount", options.minCount ?? 1, count),
    maxWaitMs: waitMs(options.maxWait ?? defaultMaxWaitMs),
    maxBytes: byteLimit(options.maxBytes ?? 1_048_576),
    commit: commitPolicy(options.commit ?? CommitPolicy.Manual),
  };
}

function commitPolicy(policy: CommitPolicy): CommitPolicy {
  const kind: unknown = policy.kind;
  if (kind === "manual" || kind === "on-read" || kind === "auto") return policy;
  throw new TypeError("commit takes CommitPolicy.Manual, CommitPolicy.OnRead or CommitPolicy.Auto(...)");
}

function messagesCount(argument: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new ValidationError(
    ErrorCode.InvalidMessagesCount,
    `${argument} takes 1 to ${String(max)}, got ${String(value)}`,
    { context: { argument } },
  );
}

function waitMs(value: Duration): number {
  const ms = milliseconds("maxWait", value);
  if (ms <= maxWaitLimitMs) return ms;
  throw new ValidationError(
    ErrorCode.InvalidCommand,
    `maxWait takes up to ${String(maxWaitLimitMs)} ms, got ${String(ms)}`,
  );
}

function byteLimit(value: number): number {
  if (Number.isInteger(value) && value >= MIN_READ_MAX_BYTES && value <= 0xffff_ffff) return value;
  throw new ValidationError(
    ErrorCode.InvalidSizeBytes,
    `maxBytes takes at least ${String(MIN_READ_MAX_BYTES)}, got ${String(value)}`,
  );
}
