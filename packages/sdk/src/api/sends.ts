import {
  decodeResponse,
  encodeSendRequest,
  ErrorCode,
  getTopic,
  HEADER_SIZE,
  type MessageInput,
  partitionForKey,
  producerIdOf,
  type ProducerSection,
  type SendConfirmation,
  sendMessages,
  WireError,
} from "@iggy/protocol";
import { errorOf, IggyError, UnauthenticatedError, ValidationError } from "../errors/index.js";
import type { PartitionRoutes } from "../routing/partition-routes.js";
import { type TopicName, topicSpelling } from "../routing/spelling.js";
import type { Session } from "../session/session.js";
import type { Partitioning } from "../values/partitioning.js";
import type { About, Caller, CallOptions } from "./caller.js";
import { TimeLeft } from "./time-left.js";

/** Where a batch was appended. */
export type { SendConfirmation } from "@iggy/protocol";

export interface SendResult {
  /** One entry, or none when the server knows no offset. */
  readonly confirmations: readonly SendConfirmation[];
}

/** Topics whose balanced cursor is kept; the one that was used longest ago starts over. */
const maxCursors = 4096;

/** One batch for one topic, checked and encoded. */
export interface OutgoingBatch {
  readonly topic: TopicName;
  readonly messages: readonly MessageInput[];
  readonly partitioning: Partitioning;
  readonly producer?: ProducerSection;
  readonly about: About;
}

/** An encoded batch for one partition. */
export interface SendFrame {
  readonly topic: TopicName;
  readonly partitionId: number;
  readonly frame: Uint8Array;
  readonly about: About;
  /** Producer that sends: its later sends resolve what became of this one, if nobody knows. */
  readonly owner?: object;
}

/** Sends batches: chooses the partition as all clients do, and sends to its primary. */
export class SendCalls {
  readonly #caller: Caller;
  readonly #routes: PartitionRoutes;
  readonly #session: Session;
  /** Next partition of balanced sends, by topic as spelled. Survives reconnects. */
  readonly #cursors = new Map<string, number>();
  #producerIndex = 0;
  #producerFence = -1;

  constructor(caller: Caller, routes: PartitionRoutes, session: Session) {
    this.#caller = caller;
    this.#routes = routes;
    this.#session = session;
  }

  async send(batch: OutgoingBatch, options?: CallOptions): Promise<SendResult> {
    const time = new TimeLeft(options);
    const { partitioning, topic, about } = batch;
    if (partitioning.kind === "partition_id") return this.#sendTo(partitioning.partitionId, batch, time);
    const count = this.knownPartitions(topic) ?? (await this.readPartitions(topic, about, time.options()));
    try {
      return await this.#sendTo(this.#choose(batch, count), batch, time);
    } catch (error) {
      // The topic shrank since its count was known: the choice is made once more.
      if (!IggyError.is(error, ErrorCode.PartitionNotFound)) throw error;
      const newCount = await this.readPartitions(topic, about, time.options());
      return this.#sendTo(this.#choose(batch, newCount), batch, time);
    }
  }

  /** Sends a request that is encoded, behind room for the header. The buffer belongs to the call from then on. */
  async sendFrame(request: SendFrame, options?: CallOptions): Promise<readonly SendConfirmation[]> {
    const { topic, partitionId, frame, about, owner } = request;
    const payload = await this.#caller.raw(
      {
        command: sendMessages,
        effect: "write",
        target: { kind: "partition", partition: { streamId: topic.streamId, topicId: topic.topicId, partitionId } },
        mayStartOver: true,
        frame,
        about: { ...about, partitionId },
        owner,
      },
      options,
    );
    return confirmationsOf(payload);
  }

  /** Number of the sign-in that a call of now belongs to. */
  get signIn(): number {
    return this.#session.signIn;
  }

  /** Whether there is a session, and so ids for producers. */
  get isBound(): boolean {
    return this.#session.isBound;
  }

  /** Partitions of a topic, when a route told them. */
  knownPartitions(topic: TopicName): number | undefined {
    return this.#routes.cache.partitionsCount(topic, this.#session.watermark);
  }

  async readPartitions(topic: TopicName, about: About, options: CallOptions | undefined): Promise<number> {
    const { streamId, topicId } = topic;
    const details = await this.#caller.read(getTopic, { streamId, topicId }, about, options);
    return details?.partitions.length ?? 0;
  }

  /** The partition whose turn it is among `count`. */
  nextBalanced(topic: TopicName, count: number, about: About): number {
    if (count === 0) throw noPartitions(about);
    return this.#advance(topicSpelling(topic)) % count;
  }

  /** A producer id that no other client gets. No request is sent. */
  nextProducerId(): bigint {
    if (!this.#session.isBound) throw new UnauthenticatedError("a producer id needs a session: sign in first");
    if (this.#producerFence !== this.#session.fence) {
      this.#producerFence = this.#session.fence;
      this.#producerIndex = 0;
    }
    try {
      const id = producerIdOf(this.#session.epoch, this.#producerIndex);
      this.#producerIndex++;
      return id;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw errorOf(ErrorCode.ProducerIdsExhausted, error.message);
    }
  }

  #choose({ topic, partitioning, about }: OutgoingBatch, count: number): number {
    switch (partitioning.kind) {
      case "partition_id":
        return partitioning.partitionId;
      case "messages_key":
        return partitionOfKey(partitioning.key, count, about);
      case "balanced":
        return this.nextBalanced(topic, count, about);
    }
  }

  #advance(topic: string): number {
    const cursor = this.#cursors.get(topic) ?? 0;
    this.#cursors.delete(topic);
    this.#cursors.set(topic, (cursor + 1) % 0x1_0000_0000);
    for (const oldest of this.#cursors.keys()) {
      if (this.#cursors.size <= maxCursors) break;
      this.#cursors.delete(oldest);
    }
    return cursor;
  }

  async #sendTo(partitionId: number, batch: OutgoingBatch, time: TimeLeft): Promise<SendResult> {
    const { topic, messages, producer, about } = batch;
    const frame = encodedSend(topic, partitionId, messages, producer);
    return { confirmations: await this.sendFrame({ topic, partitionId, frame, about }, time.options()) };
  }
}

/** The partition of a key among `count`, the same for every client. */
export function partitionOfKey(key: Uint8Array, count: number, about: About): number {
  if (count === 0) throw noPartitions(about);
  return partitionForKey(key, count);
}

const noPartitions = (about: About): IggyError =>
  errorOf(ErrorCode.TopicIdNotFound, "the topic has no partitions", { context: about });

function encodedSend(
  topic: TopicName,
  partitionId: number,
  messages: readonly MessageInput[],
  producer: ProducerSection | undefined,
): Uint8Array {
  const target = { ...topic, partitioning: { kind: "partition_id", partitionId } as const };
  try {
    return encodeSendRequest(target, messages, {
      headroom: HEADER_SIZE,
      ...(producer === undefined ? {} : { producer }),
    });
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new ValidationError(error.code, `message.send: ${error.message}`);
  }
}

/** The send is committed: a confirmation that can not be read is no reason to fail it. */
function confirmationsOf(payload: Uint8Array): readonly SendConfirmation[] {
  if (payload.length === 0) return [];
  try {
    return decodeResponse(sendMessages, payload).confirmations;
  } catch (error) {
    if (error instanceof WireError) return [];
    throw error;
  }
}
