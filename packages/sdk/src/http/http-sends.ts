import {
  encodeBase64,
  ErrorCode,
  getTopic,
  type JsonObject,
  type MessageInput,
  type PartitionContext,
  sendMessages,
} from "@iggy/protocol";
import { type Calls, type CallOptions, defaultTimeoutMs } from "../api/caller.js";
import type { OutgoingBatch, SendConfirmation, SendResult } from "../api/sends.js";
import { TimeLeft } from "../api/time-left.js";
import { errorOf, FeatureUnavailableError, IggyError } from "../errors/index.js";
import { topicSpelling } from "../routing/spelling.js";
import type { Partitioning } from "../values/partitioning.js";
import { decodedAnswer, jsonOf } from "./http-caller.js";
import type { HttpLink } from "./http-link.js";
import { Members } from "./members.js";
import { contextJson, topicPath } from "./routes/index.js";

/** Topics whose histories are kept; the one that was read longest ago is read again. */
const maxTopics = 1024;

/** Histories of the partitions of a topic; null where the user may not read them. */
type Histories = ReadonlyMap<number, PartitionContext> | null;

/**
 * Sends batches over HTTP. The server chooses the partition of balanced and keyed sends; one to a partition carries the
 * history of that partition, so that it never lands in another one of the same number.
 */
export class HttpSends {
  readonly #link: HttpLink;
  readonly #calls: Calls;
  readonly #histories = new Map<string, Histories>();

  constructor(link: HttpLink, calls: Calls) {
    this.#link = link;
    this.#calls = calls;
  }

  async send(batch: OutgoingBatch, options?: CallOptions): Promise<SendResult> {
    if (batch.producer !== undefined) {
      throw new FeatureUnavailableError("an idempotent send needs a binary transport");
    }
    const time = new TimeLeft(options);
    const { partitioning } = batch;
    if (partitioning.kind !== "partition_id") return this.#post(batch, undefined, time);
    const context = await this.#history(batch, partitioning.partitionId, time);
    try {
      return await this.#post(batch, context, time);
    } catch (error) {
      if (context === undefined || !IggyError.is(error, ErrorCode.HistoryUnavailable)) throw error;
    }
    // What was known was old: with the current history it goes once more.
    this.#histories.delete(topicSpelling(batch.topic));
    return this.#post(batch, await this.#history(batch, partitioning.partitionId, time), time);
  }

  nextProducerId(): never {
    throw new FeatureUnavailableError("producer ids need a binary transport");
  }

  /** Partitions may be others now. */
  forgetHistories(): void {
    this.#histories.clear();
  }

  async #history(batch: OutgoingBatch, partitionId: number, time: TimeLeft): Promise<PartitionContext | undefined> {
    const known = this.#histories.get(topicSpelling(batch.topic));
    if (known === null) return undefined;
    // A partition that is missing may be newer than what is known.
    const context = known?.get(partitionId) ?? (await this.#readHistories(batch, time))?.get(partitionId);
    if (context !== undefined || this.#histories.get(topicSpelling(batch.topic)) === null) return context;
    throw errorOf(ErrorCode.PartitionNotFound, `the topic has no partition ${String(partitionId)}`, {
      commandCode: sendMessages.code,
      context: batch.about,
    });
  }

  async #readHistories({ topic, about }: OutgoingBatch, time: TimeLeft): Promise<Histories> {
    const histories = await this.#askHistories(topic, about, time);
    const key = topicSpelling(topic);
    this.#histories.delete(key);
    this.#histories.set(key, histories);
    for (const oldest of this.#histories.keys()) {
      if (this.#histories.size <= maxTopics) break;
      this.#histories.delete(oldest);
    }
    return histories;
  }

  async #askHistories(
    topic: OutgoingBatch["topic"],
    about: OutgoingBatch["about"],
    time: TimeLeft,
  ): Promise<Histories> {
    try {
      const { streamId, topicId } = topic;
      const details = await this.#calls.read(getTopic, { streamId, topicId }, about, time.options());
      if (details !== null) return new Map(details.partitions.map(({ id, context }) => [id, context]));
    } catch (error) {
      if (IggyError.is(error, ErrorCode.Unauthorized)) return null;
      throw error;
    }
    throw errorOf(ErrorCode.TopicIdNotFound, "there is no such topic", {
      commandCode: sendMessages.code,
      context: about,
    });
  }

  async #post(batch: OutgoingBatch, context: PartitionContext | undefined, time: TimeLeft): Promise<SendResult> {
    const { topic, partitioning, messages, about } = batch;
    const reply = await this.#link.send(
      {
        command: sendMessages,
        request: {
          method: "POST",
          path: `${topicPath(topic.streamId, topic.topicId)}/messages`,
          body: {
            partitioning: partitioningJson(partitioning),
            messages: messages.map(messageJson),
            ...(context === undefined ? {} : { context: contextJson(context) }),
          },
        },
        effect: "write",
        about,
      },
      time.options(),
      defaultTimeoutMs,
    );
    if (reply.body.length === 0) return { confirmations: [] };
    const read = (): readonly SendConfirmation[] =>
      new Members(jsonOf(reply)).list("confirmations", (confirmation) => ({
        streamId: confirmation.u32("stream_id"),
        topicId: confirmation.u32("topic_id"),
        partitionId: confirmation.u32("partition_id"),
        baseOffset: confirmation.u64("base_offset"),
      }));
    return { confirmations: decodedAnswer(sendMessages, read) };
  }
}

function partitioningJson(partitioning: Partitioning): JsonObject {
  switch (partitioning.kind) {
    case "balanced":
      return { kind: "balanced", value: "" };
    case "partition_id": {
      const bytes = new Uint8Array(4);
      new DataView(bytes.buffer).setUint32(0, partitioning.partitionId, true);
      return { kind: "partition_id", value: encodeBase64(bytes) };
    }
    case "messages_key":
      return { kind: "messages_key", value: encodeBase64(partitioning.key) };
  }
}

/** The server sets the origin time: to it, it is the producer. Headers go as their bytes, which it stores. */
const messageJson = ({ id, payload, userHeaders }: MessageInput): JsonObject => ({
  id: typeof id === "bigint" ? id : littleEndian(id),
  payload: encodeBase64(payload),
  ...(userHeaders === undefined ? {} : { user_headers: encodeBase64(userHeaders) }),
});

const littleEndian = (bytes: Uint8Array = noId): bigint =>
  bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);

/** The server makes an id for it. */
const noId = new Uint8Array(0);
