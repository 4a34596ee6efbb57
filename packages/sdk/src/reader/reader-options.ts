import type { Encryptor } from "../encryption/index.js";
import { ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import type { Consumer } from "../values/consumer.js";
import type { Duration } from "../values/duration.js";
import type { Id } from "../values/id.js";
import type { PollOptions } from "../values/poll-options.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import { type ReadSettings, readSettings } from "./read-settings.js";

export interface PartitionReaderOptions {
  readonly streamId: Id;
  readonly topicId: Id;
  /** `Consumer.Named` reads the partitions that it names, `Consumer.Group` those that the group gives it. */
  readonly consumer: Consumer;
  /** Partitions to read; none for a group. */
  readonly partitions?: readonly number[];
  /** Where a partition without a position starts; `Next` without it. A continuation is refused. */
  readonly start?: PollingStrategy;
  /** Per request; waits are 5 s without it. */
  readonly options?: PollOptions;
  /** Bytes of replies that are on the way or not yet handed over; 16 MiB without it. */
  readonly prefetchBytes?: number;
  /** The same in messages; 16,000 without it, or the count of a request when that is more. */
  readonly prefetchMessages?: number;
  /** Wait after a refused read, 1 s without it. */
  readonly retryInterval?: Duration;
  /** Decrypts payloads and headers; the client's without it, `false` for none. */
  readonly encryptor?: Encryptor | false;
}

export function readerSettings(options: PartitionReaderOptions, clientEncryptor: Encryptor | undefined): ReadSettings {
  const { consumer, partitions } = options;
  const isGroup = consumer.kind === "consumer_group";
  if (isGroup && partitions !== undefined) {
    throw new ValidationError(ErrorCode.InvalidCommand, "partitions: a group is told its partitions; it takes none");
  }
  return readSettings(
    {
      consumer,
      streamId: options.streamId,
      topicId: options.topicId,
      partitions: isGroup ? undefined : (partitions ?? []),
      createGroup: false,
      start: options.start,
      options: options.options,
      prefetchBytes: options.prefetchBytes,
      prefetchMessages: options.prefetchMessages,
      retryInterval: options.retryInterval,
      encryptor: options.encryptor === false ? undefined : (options.encryptor ?? clientEncryptor),
    },
    { start: "start", retryInterval: "retryInterval" },
  );
}
