import {
  type BatchOptions,
  type Consumer,
  deleteConsumerOffset,
  encodeRequest,
  encodeSendRequest,
  ErrorCode,
  getConsumerOffset,
  type ConsumerOffset,
  getPartitionRoute,
  type Identifier,
  type MessageInput,
  MessageCursor,
  numericId,
  pollMessages,
  pollMessagesDeferred,
  type PollingStrategy,
  type PollReply,
  sendMessages,
  storeConsumerOffset,
  verifyBatch,
} from "@iggy/protocol";
import type { Answer } from "./answer.js";
import { sleep } from "./server-process.js";
import type { Overrides, RawSession } from "./session.js";

export const consumer = (id: number): Consumer => ({ kind: "consumer", id: numericId(id) });
export const group = (id: number): Consumer => ({ kind: "consumer_group", id: numericId(id) });

export const next: PollingStrategy = { kind: "next", value: 0n };
export const first: PollingStrategy = { kind: "first", value: 0n };
export const last: PollingStrategy = { kind: "last", value: 0n };
export const atOffset = (offset: number | bigint): PollingStrategy => ({ kind: "offset", value: BigInt(offset) });
export const since = (micros: number | bigint): PollingStrategy => ({ kind: "timestamp", value: BigInt(micros) });

/** A partition under a number that was used before is ready once its predecessor is gone. */
const READY_RETRIES = 200;
const READY_PAUSE_MILLIS = 10;
const isNotReady = (answer: Answer): boolean =>
  answer.kind === "refused" && answer.code === ErrorCode.TransientNotAccepted;

export interface PollOptions {
  readonly consumer?: Consumer;
  readonly count?: number;
  readonly autoCommit?: boolean;
  readonly waitMillis?: number;
  readonly minCount?: number;
  readonly maxBytes?: number;
  readonly ownerGeneration?: number;
}

export interface ReadMessage {
  readonly offset: number;
  readonly id: bigint;
  readonly payload: Uint8Array;
  readonly timestamp: number;
  readonly originTimestamp: bigint;
}

export interface Polled extends Omit<PollReply, "records" | "currentOffset"> {
  readonly currentOffset: number;
  readonly messages: readonly ReadMessage[];
}

/** One partition through the eyes of one session: the route once, then requests with its context. */
export class RawPartition {
  readonly session: RawSession;
  readonly streamId: Identifier;
  readonly topicId: Identifier;
  readonly partitionId: number;
  incarnation = 0n;
  metadataOp = 0n;

  private constructor(session: RawSession, streamId: Identifier, topicId: Identifier, partitionId: number) {
    this.session = session;
    this.streamId = streamId;
    this.topicId = topicId;
    this.partitionId = partitionId;
  }

  static async of(
    session: RawSession,
    streamId: Identifier,
    topicId: Identifier,
    partitionId = 0,
  ): Promise<RawPartition> {
    const partition = new RawPartition(session, streamId, topicId, partitionId);
    await partition.route();
    return partition;
  }

  /** The same without asking for the route. */
  static routed(
    session: RawSession,
    { streamId, topicId }: { readonly streamId: Identifier; readonly topicId: Identifier },
    partitionId: number,
    { incarnation, metadataOp }: { readonly incarnation: bigint; readonly metadataOp: bigint },
  ): RawPartition {
    const partition = new RawPartition(session, streamId, topicId, partitionId);
    partition.incarnation = incarnation;
    partition.metadataOp = metadataOp;
    return partition;
  }

  async route(): Promise<void> {
    const { streamId, topicId, partitionId } = this;
    const route = await this.session.call(getPartitionRoute, { streamId, topicId, partitionId });
    this.incarnation = route.incarnation;
    this.metadataOp = route.metadataOp;
  }

  get context(): Overrides {
    return { partitionIncarnation: this.incarnation, minimumMetadataOp: this.metadataOp };
  }

  /** The same partition, asked by another session. */
  by(session: RawSession): RawPartition {
    return RawPartition.routed(session, this, this.partitionId, this);
  }

  sendBody(messages: readonly MessageInput[], options?: BatchOptions): Uint8Array {
    const { streamId, topicId, partitionId } = this;
    return encodeSendRequest(
      { streamId, topicId, partitioning: { kind: "partition_id", partitionId } },
      messages,
      options,
    );
  }

  sendFrame(messages: readonly MessageInput[], options?: BatchOptions, overrides?: Overrides): Uint8Array {
    return this.session.frame(sendMessages, this.sendBody(messages, options), { ...this.context, ...overrides });
  }

  trySend(messages: readonly MessageInput[], options?: BatchOptions, overrides?: Overrides): Promise<Answer> {
    return this.session.deliver(this.sendFrame(messages, options, overrides));
  }

  /** Appends a batch and gives the offset of its first message. Sends it again while the partition is not ready. */
  async send(messages: readonly MessageInput[], options?: BatchOptions): Promise<number> {
    const frame = this.sendFrame(messages, options);
    let answer = await this.session.deliver(frame);
    for (let retries = 0; retries < READY_RETRIES && isNotReady(answer); retries++) {
      await sleep(READY_PAUSE_MILLIS);
      answer = await this.session.deliver(frame);
    }
    const reply = this.session.decoded(sendMessages, answer);
    const [confirmation] = reply.confirmations;
    if (confirmation === undefined) throw new Error("a send was not confirmed");
    return Number(confirmation.baseOffset);
  }

  tryPoll(strategy: PollingStrategy, options: PollOptions = {}): Promise<Answer> {
    return this.session.deliver(this.pollFrame(strategy, options));
  }

  pollFrame(strategy: PollingStrategy, options: PollOptions = {}, overrides?: Overrides): Uint8Array {
    const { streamId, topicId, partitionId } = this;
    const count = options.count ?? 100;
    const waitUs = BigInt(Math.round((options.waitMillis ?? 0) * 1000));
    const request = {
      poll: {
        consumer: options.consumer ?? consumer(1),
        streamId,
        topicId,
        partitionId,
        strategy,
        count,
        autoCommit: options.autoCommit ?? false,
      },
      waitUs,
      minCount: options.minCount ?? 1,
      maxBytes: options.maxBytes ?? 64 * 1024 * 1024,
      requestTimeoutUs: waitUs + 10_000_000n,
    };
    const owner = options.ownerGeneration === undefined ? {} : { ownerGeneration: options.ownerGeneration };
    const body = encodeRequest(pollMessagesDeferred, request);
    return this.session.frame(pollMessagesDeferred, body, { ...this.context, ...owner, ...overrides });
  }

  async poll(strategy: PollingStrategy, options?: PollOptions): Promise<Polled> {
    return this.polled(await this.tryPoll(strategy, options));
  }

  /** What a poll that had to succeed was answered. */
  polled(answer: Answer): Polled {
    return polledOf(this.session.decoded(pollMessagesDeferred, answer));
  }

  /** A poll of the plain command, which never waits. */
  async pollPlain(strategy: PollingStrategy, count = 100): Promise<Polled> {
    const { streamId, topicId, partitionId } = this;
    const request = { consumer: consumer(1), streamId, topicId, partitionId, strategy, count, autoCommit: false };
    return polledOf(await this.session.call(pollMessages, request, this.context));
  }

  /** Reads from an offset to the end. */
  async readAll(from = 0): Promise<ReadMessage[]> {
    const messages: ReadMessage[] = [];
    for (let offset = from; ;) {
      const polled = await this.poll(atOffset(offset), { count: 1000 });
      messages.push(...polled.messages);
      const newest = polled.messages.at(-1);
      if (newest === undefined) return messages;
      offset = newest.offset + 1;
    }
  }

  tryStore(offset: number, who = consumer(1), overrides?: Overrides): Promise<Answer> {
    const { streamId, topicId, partitionId } = this;
    const request = { consumer: who, streamId, topicId, partitionId, offset: BigInt(offset), ack: "quorum" as const };
    return this.session.ask(storeConsumerOffset, request, { ...this.context, ...overrides });
  }

  async store(offset: number, who = consumer(1), overrides?: Overrides): Promise<void> {
    this.session.decoded(storeConsumerOffset, await this.tryStore(offset, who, overrides));
  }

  tryDeleteOffset(who = consumer(1)): Promise<Answer> {
    const { streamId, topicId, partitionId } = this;
    const request = { consumer: who, streamId, topicId, partitionId, ack: "quorum" as const };
    return this.session.ask(deleteConsumerOffset, request, this.context);
  }

  stored(who = consumer(1)): Promise<ConsumerOffset | null> {
    const { streamId, topicId, partitionId } = this;
    return this.session.call(getConsumerOffset, { consumer: who, streamId, topicId, partitionId }, this.context);
  }
}

export function polledOf({ records, currentOffset, ...reply }: PollReply): Polled {
  const messages = readMessages(records);
  if (messages.length !== reply.messagesCount) {
    throw new Error(`a poll states ${reply.messagesCount} messages and holds ${messages.length}`);
  }
  return { ...reply, currentOffset: Number(currentOffset), messages };
}

/** The messages of stored records, every checksum verified. */
export function readMessages(records: Uint8Array): ReadMessage[] {
  for (let at = 0; at < records.length;) at += verifyBatch(records.subarray(at));
  const messages: ReadMessage[] = [];
  const cursor = new MessageCursor().records(records);
  while (cursor.next()) {
    const { offset, id, payload, timestamp, originTimestampBig: originTimestamp } = cursor;
    messages.push({ offset, id, payload, timestamp, originTimestamp });
  }
  return messages;
}
