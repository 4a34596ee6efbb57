import type { Readable } from "node:stream";
import type { PartitionReader } from "../reader/index.js";
import { integer } from "../values/check.js";
import { Consumer } from "../values/consumer.js";
import { type Duration, milliseconds } from "../values/duration.js";
import type { Id } from "../values/id.js";
import { CommitPolicy } from "../values/poll-options.js";
import type { PolledMessages } from "../values/polled-messages.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import { ClientCore } from "./client.js";
import type { ClientConfig } from "./config.js";
import { nodePlatform } from "./node-platform.js";
import { nodeReadable } from "./node-readable.js";

interface PollStreamOptions {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly pollingStrategy: PollingStrategy;
  /** Messages of one poll, 1000 without it. */
  readonly count?: number;
  /** How long a poll waits for messages, 1 s without it. */
  readonly interval?: Duration;
  /** The server stores the offset of what it returns; true without it. Each message then comes at most once. */
  readonly autocommit?: boolean;
  /** Ends when each partition reached the offset that was its last one at the start. */
  readonly endOnLastOffset?: boolean;
}

export interface SingleConsumerStreamOptions extends PollStreamOptions {
  readonly partitionId: number;
}

export interface GroupConsumerStreamOptions extends PollStreamOptions {
  /** Made when it is missing. */
  readonly groupName: string;
}

/** Polls of one partition as a stream of Node.js, with a client of its own that ends with the stream. */
export const singleConsumerStream =
  (config: ClientConfig | string) =>
  ({ partitionId, ...options }: SingleConsumerStreamOptions): Readable =>
    nodeReadable(
      new PollStream(config, options, (client, read) =>
        client.reader({ ...read, consumer: Consumer.Single, partitions: [partitionId] }),
      ),
    );

/** The same for the partitions that a group gives to this client. */
export const groupConsumerStream =
  (config: ClientConfig | string) =>
  ({ groupName, ...options }: GroupConsumerStreamOptions): Readable =>
    nodeReadable(
      new PollStream(config, options, async (client, read) => {
        const { streamId, topicId } = options;
        await client.group.ensure({ streamId, topicId, name: groupName });
        return client.reader({ ...read, consumer: Consumer.Group(groupName) });
      }),
    );

type Open = (
  client: ClientCore,
  read: Omit<Parameters<ClientCore["reader"]>[0], "consumer" | "partitions">,
) => Promise<PartitionReader>;

class PollStream implements AsyncIterable<PolledMessages> {
  readonly #client: ClientCore;
  readonly #options: PollStreamOptions;
  readonly #open: Open;
  readonly #intervalMs: number;

  constructor(config: ClientConfig | string, options: PollStreamOptions, open: Open) {
    const { count = 1000, interval = 1000 } = options;
    this.#intervalMs = milliseconds("interval", interval, 1, 600_000);
    integer("count", count, 1, 0xffff_ffff);
    this.#options = options;
    this.#open = open;
    this.#client = new ClientCore(config, nodePlatform);
  }

  /** Ends the client, and with it the reader. */
  close(): Promise<void> {
    return this.#client.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PolledMessages, undefined> {
    const {
      streamId,
      topicId,
      pollingStrategy,
      count = 1000,
      autocommit = true,
      endOnLastOffset = false,
    } = this.#options;
    const ends = endOnLastOffset ? await this.#ends() : undefined;
    const reader = await this.#open(this.#client, {
      streamId,
      topicId,
      start: pollingStrategy,
      options: { count, maxWait: this.#intervalMs, commit: autocommit ? CommitPolicy.OnRead : CommitPolicy.Manual },
    });
    for (;;) {
      const polled = await this.#next(reader);
      if (polled === "closed") return undefined;
      if (polled !== undefined) yield polled;
      if (ends !== undefined && reader.partitions.every((partition) => isThrough(reader, partition, ends)))
        return undefined;
    }
  }

  /** The next batch; undefined when none came for a while. */
  async #next(reader: PartitionReader): Promise<PolledMessages | "closed" | undefined> {
    const pause = AbortSignal.timeout(this.#intervalMs);
    try {
      return (await reader.next({ signal: pause })).value ?? "closed";
    } catch (error) {
      if (pause.aborted && error === pause.reason) return undefined;
      throw error;
    }
  }

  /** The last offset of each partition that holds any message. */
  async #ends(): Promise<ReadonlyMap<number, bigint>> {
    const { streamId, topicId } = this.#options;
    const topic = await this.#client.topic.get({ streamId, topicId });
    const filled = (topic?.partitions ?? []).filter(({ messagesCount }) => messagesCount > 0n);
    return new Map(filled.map(({ id, currentOffset }) => [id, currentOffset]));
  }
}

/** Whether a partition was read up to an end: what is behind its last message there, or nothing was left to read. */
function isThrough(reader: PartitionReader, partition: number, ends: ReadonlyMap<number, bigint>): boolean {
  const end = ends.get(partition);
  const figures = reader.figures(partition);
  if (end === undefined) return true;
  if (figures?.lastOffset !== undefined) return figures.lastOffset >= end;
  return figures?.answeredAt !== undefined && figures.lagMessages === 0n;
}
