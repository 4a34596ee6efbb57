import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { integer, u32 } from "../values/check.js";
import { Consumer } from "../values/consumer.js";
import { type Duration, milliseconds } from "../values/duration.js";
import { type Id, toIdentifier } from "../values/id.js";
import { type PollOptions, type ReadLimits, readLimitsOf } from "../values/poll-options.js";
import { PollingStrategy } from "../values/polling-strategy.js";

interface CommonOptions {
  readonly streamId: Id;
  readonly topicId: Id;
  /** Where a partition without a position starts; `Next` without it. A continuation is refused. */
  readonly pollingStrategy?: PollingStrategy;
  /** Per request; waits are 5 s without it. */
  readonly pollOptions?: PollOptions;
  /** Bytes of replies that are on the way or not yet delivered; 16 MiB without it. */
  readonly prefetchBytes?: number;
  /** The same in messages; 16,000 without it, or the count of a request when that is more. */
  readonly prefetchMessages?: number;
  /** Wait after a refused read, 1 s without it. */
  readonly pollingRetryInterval?: Duration;
  /** Repeats of `init` while the stream or topic is missing. */
  readonly init?: { readonly retries?: number; readonly interval?: Duration };
  /** True delivers messages again that were delivered before from the same history. */
  readonly allowReplay?: boolean;
  /** How long `close()` waits for the last stores of offsets, 5 s without it. */
  readonly offsetDrainTimeout?: Duration;
  /** Ends iteration and closes. */
  readonly signal?: AbortSignal;
}

export interface ConsumerOptions extends CommonOptions {
  /** Consumer id: a number, or a name. Offsets are stored under it. */
  readonly name: Id;
  /** Partitions to read. */
  readonly partitions: readonly number[];
}

export interface ConsumerGroupOptions extends CommonOptions {
  /** Group name, or the id of an existing group. */
  readonly name: Id;
  /** Create a missing group; true without it. A numeric id creates nothing. */
  readonly createGroup?: boolean;
}

export interface ConsumerSettings {
  readonly consumer: Consumer;
  readonly streamId: Id;
  readonly topicId: Id;
  /** Sorted, none twice; undefined for a group, which is told. */
  readonly partitions: readonly number[] | undefined;
  readonly createGroup: boolean;
  readonly start: PollingStrategy;
  readonly limits: ReadLimits;
  /** Replies that may be on the way or not yet delivered. */
  readonly slots: number;
  readonly retryIntervalMs: number;
  readonly init: { readonly retries: number; readonly intervalMs: number };
  readonly allowReplay: boolean;
  readonly offsetDrainTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const maxSlots = 16;
const longestTimerMs = 2 ** 31 - 1;

export function consumerSettings(options: ConsumerOptions): ConsumerSettings {
  const partitions = [...new Set(options.partitions)].sort((a, b) => a - b);
  for (const partition of partitions) u32("partitions", partition);
  if (partitions.length === 0) {
    throw new ValidationError(ErrorCode.InvalidCommand, "a consumer needs a partition");
  }
  return { ...commonSettings(options, Consumer.Named(options.name)), partitions, createGroup: false };
}

export function groupSettings(options: ConsumerGroupOptions): ConsumerSettings {
  if ("partitions" in options) {
    throw new ValidationError(ErrorCode.InvalidCommand, "a group is told its partitions; it takes none");
  }
  return {
    ...commonSettings(options, Consumer.Group(options.name)),
    partitions: undefined,
    createGroup: options.createGroup ?? true,
  };
}

function commonSettings(
  options: CommonOptions,
  consumer: Consumer,
): Omit<ConsumerSettings, "partitions" | "createGroup"> {
  toIdentifier("name", consumer.id);
  toIdentifier("streamId", options.streamId);
  toIdentifier("topicId", options.topicId);
  const start = options.pollingStrategy ?? PollingStrategy.Next;
  if (start.bound !== undefined) {
    throw new ValidationError(ErrorCode.InvalidCommand, "a consumer does not start at a continuation");
  }
  const limits = readLimitsOf(options.pollOptions ?? {}, 5000);
  const messages = integer("prefetchMessages", options.prefetchMessages ?? Math.max(16_000, limits.count), 1, 2 ** 32);
  const bytes = integer("prefetchBytes", options.prefetchBytes ?? 16 * 1_048_576, 1, 2 ** 40);
  const { retries = 0, interval = 1000 } = options.init ?? {};
  return {
    consumer,
    streamId: options.streamId,
    topicId: options.topicId,
    start,
    limits,
    slots: Math.max(1, Math.min(maxSlots, Math.floor(Math.min(messages / limits.count, bytes / limits.maxBytes)))),
    retryIntervalMs: milliseconds("pollingRetryInterval", options.pollingRetryInterval ?? 1000, 1, longestTimerMs),
    init: {
      retries: retries === Infinity ? Infinity : integer("init.retries", retries, 0, 0xffff_ffff),
      intervalMs: milliseconds("init.interval", interval, 0, longestTimerMs),
    },
    allowReplay: options.allowReplay ?? false,
    offsetDrainTimeoutMs: milliseconds("offsetDrainTimeout", options.offsetDrainTimeout ?? 5000, 0, longestTimerMs),
    signal: options.signal,
  };
}
