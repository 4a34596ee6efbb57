import { ErrorCode } from "@iggy/protocol";
import { checkedEncryptor, type Encryptor } from "../encryption/index.js";
import { FeatureUnavailableError, ValidationError } from "../errors/index.js";
import { integer, u32, wrongType } from "../values/check.js";
import { type Consumer, toConsumer } from "../values/consumer.js";
import { type Duration, milliseconds } from "../values/duration.js";
import { type Id, toIdentifier } from "../values/id.js";
import { type PollOptions, type ReadLimits, readLimitsOf } from "../values/poll-options.js";
import { PollingStrategy } from "../values/polling-strategy.js";

/** What readers and consumers are told alike. */
export interface ReadSettings {
  readonly consumer: Consumer;
  readonly streamId: Id;
  readonly topicId: Id;
  /** Sorted, none twice; undefined for a group, which is told. */
  readonly partitions: readonly number[] | undefined;
  /** Make a missing group. */
  readonly createGroup: boolean;
  /** Start of a partition without a position. */
  readonly start: PollingStrategy;
  readonly limits: ReadLimits;
  /** Replies that may be on the way or not yet delivered. */
  readonly slots: number;
  readonly retryIntervalMs: number;
  readonly encryptor: Encryptor | undefined;
}

/** Options as the caller wrote them. */
export interface ReadInput {
  readonly consumer: Consumer;
  readonly streamId: Id;
  readonly topicId: Id;
  readonly partitions: readonly number[] | undefined;
  readonly createGroup: boolean;
  readonly start: PollingStrategy | undefined;
  readonly options: PollOptions | undefined;
  readonly prefetchBytes: number | undefined;
  readonly prefetchMessages: number | undefined;
  readonly retryInterval: Duration | undefined;
  readonly encryptor: Encryptor | undefined;
}

/** How the options are called by those who write them. */
export interface ReadNames {
  readonly start: string;
  readonly retryInterval: string;
}

/** Most requests of one reader at a time; it leaves room for others among those that a client may have waiting. */
const maxSlots = 16;
const defaultPrefetchBytes = 16 * 1_048_576;
const defaultPrefetchMessages = 16_000;
const defaultMaxWaitMs = 5000;
export const longestTimerMs = 2 ** 31 - 1;

/** Checks options before anything is sent, and fills defaults in. */
export function readSettings(input: ReadInput, names: ReadNames): ReadSettings {
  toIdentifier("streamId", input.streamId);
  toIdentifier("topicId", input.topicId);
  toConsumer(input.consumer);
  if (input.consumer.kind === "external_group") {
    throw new FeatureUnavailableError("consumer: an external group holds offsets only; it can not be read");
  }
  const start = checkedStart(names.start, input.start ?? PollingStrategy.Next);
  const limits = readLimitsOf(input.options ?? {}, defaultMaxWaitMs);
  const encryptor = checkedEncryptor("encryptor", input.encryptor);
  if (encryptor !== undefined && limits.commit.kind === "on-read") {
    throw new ValidationError(
      ErrorCode.InvalidConfiguration,
      "commit takes no OnRead with an encryptor: the server would pass messages that can not be decrypted",
    );
  }
  const messages = input.prefetchMessages ?? Math.max(defaultPrefetchMessages, limits.count);
  return {
    consumer: input.consumer,
    streamId: input.streamId,
    topicId: input.topicId,
    partitions: input.partitions === undefined ? undefined : checkedPartitions(input.partitions),
    createGroup: input.createGroup,
    start,
    limits,
    slots: slotsOf(
      integer("prefetchMessages", messages, 1, 2 ** 32) / limits.count,
      integer("prefetchBytes", input.prefetchBytes ?? defaultPrefetchBytes, 1, 2 ** 40) / limits.maxBytes,
    ),
    retryIntervalMs: milliseconds(names.retryInterval, input.retryInterval ?? 1000, 1, longestTimerMs),
    encryptor,
  };
}

const slotsOf = (byMessages: number, byBytes: number): number =>
  Math.max(1, Math.min(maxSlots, Math.floor(Math.min(byMessages, byBytes))));

function checkedStart(argument: string, start: PollingStrategy): PollingStrategy {
  if (!(start instanceof PollingStrategy)) throw wrongType(argument, "a PollingStrategy", start);
  if (start.bound !== undefined) {
    throw new ValidationError(
      ErrorCode.InvalidCommand,
      `${argument} takes no continuation: it belongs to one partition; seek there`,
    );
  }
  return start.kind === "first" ? PollingStrategy.Offset(0n) : start;
}

function checkedPartitions(partitions: readonly number[]): readonly number[] {
  const given: unknown = partitions;
  if (!Array.isArray(given)) throw wrongType("partitions", "an array of partition ids", given);
  for (const partition of partitions) u32("partitions", partition);
  if (partitions.length === 0) {
    throw new ValidationError(ErrorCode.InvalidCommand, "partitions takes at least one partition");
  }
  return [...new Set(partitions)].sort((a, b) => a - b);
}
