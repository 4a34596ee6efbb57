import { forEachMessage, HEADER_SIZE, SendRequestBuilder } from "@iggy/protocol";
import type { CreateMessage } from "../api/outgoing-messages.js";
import { partitionOfKey } from "../api/sends.js";
import type { TopicName } from "../routing/spelling.js";
import type { Id } from "../values/id.js";
import type { RandomIds } from "../values/random-ids.js";
import type { PreparedSend } from "./prepared-send.js";

/** A topic as the caller of a producer spelled it. */
export interface ProducerTopic {
  readonly name: TopicName;
  readonly spelling: string;
  /** For errors and callbacks. */
  readonly about: { readonly streamId: Id; readonly topicId: Id };
}

/** Where the messages of one send go. */
export interface PartitionChoice {
  /** Undefined while it is left to the request, which goes to the partition whose turn it is. */
  readonly partitionId: number | undefined;
  /** What it follows from: it is computed anew when the topic turns out to have other partitions. */
  readonly key: Uint8Array | undefined;
}

interface KeyRun {
  readonly key: Uint8Array;
  messages: number;
}

/** Room for all of a request but its messages. */
const spareBytes = 1200;
/** Bytes of a request, so that no frame exceeds what servers take with their default settings. */
const maxRequestBytes = 16 * 1_048_576;

/** Limits of one request. */
export interface RequestLimits {
  readonly messages: number;
  readonly bytes: number;
}

/** Limits of requests for a client that keeps at most `maxPendingBytes` of frames. */
export const requestLimits = (messages: number, maxPendingBytes: number): RequestLimits => ({
  messages,
  bytes: Math.min(maxRequestBytes, maxPendingBytes),
});

/** Messages for one partition that leave in one request. */
export class OutgoingBatch {
  readonly topic: ProducerTopic;
  readonly choice: PartitionChoice;
  /** Sign-in of the client that the messages were given to. */
  readonly signIn: number;
  #request: SendRequestBuilder;
  #isTaken = false;
  #isFinished = false;
  /** Bytes of the messages alone. */
  #bytes = 0;
  readonly #keys: KeyRun[] = [];

  /** `bytes` of messages are expected. */
  constructor(topic: ProducerTopic, choice: PartitionChoice, signIn: number, bytes = 0) {
    this.topic = topic;
    this.choice = choice;
    this.signIn = signIn;
    this.#request = new SendRequestBuilder(topic.name, HEADER_SIZE, bytes === 0 ? undefined : bytes + spareBytes);
  }

  get count(): number {
    return this.#request.count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a request may hold one more message of this size and time. The first one always fits. */
  accepts(size: number, time: bigint | number, limits: RequestLimits): boolean {
    const { count } = this.#request;
    if (count === 0) return true;
    return count < limits.messages && this.#request.size + size <= limits.bytes && this.#request.fitsTime(time);
  }

  add(send: PreparedSend, index: number, ids: RandomIds, key: Uint8Array | undefined): void {
    const before = this.#request.size;
    send.addTo(this.#request, index, ids);
    this.#bytes += this.#request.size - before;
    if (key === undefined) return;
    const last = this.#keys.at(-1);
    if (last?.key === key) last.messages++;
    else this.#keys.push({ key, messages: 1 });
  }

  /** The request, for one partition. What is sent again is the same messages in a buffer of their own. */
  frameFor(partitionId: number, producer?: Parameters<SendRequestBuilder["finish"]>[1]): Uint8Array {
    if (this.#isTaken) this.#request = this.#request.copy();
    this.#isTaken = true;
    this.#isFinished = true;
    return this.#request.finish(partitionId, producer);
  }

  /** The messages as they are sent, for who sends them again. */
  messages(): readonly CreateMessage[] {
    if (!this.#isFinished) this.frameFor(0);
    const messages: CreateMessage[] = [];
    forEachMessage(this.#request.batch, ({ id, payload, userHeaders, originTimestampBig }) => {
      messages.push({
        id,
        payload,
        originTimestamp: originTimestampBig,
        ...(userHeaders.length === 0 ? {} : { rawUserHeaders: userHeaders }),
      });
    });
    return messages;
  }

  /** The same messages by the partitions that their keys have among `count`, in order. */
  byKeysAmong(count: number): readonly OutgoingBatch[] {
    const batches = new Map<number, OutgoingBatch>();
    let run = 0;
    let left = this.#keys[0]?.messages ?? 0;
    if (!this.#isFinished) this.frameFor(0);
    forEachMessage(this.#request.batch, ({ id, payload, userHeaders, originTimestampBig }) => {
      while (left === 0 && run < this.#keys.length) left = this.#keys[++run]?.messages ?? 0;
      left--;
      const key = this.#keys[run]?.key ?? new Uint8Array(0);
      const partitionId = partitionOfKey(key, count, this.topic.about);
      const batch = batches.get(partitionId) ?? new OutgoingBatch(this.topic, { partitionId, key }, this.signIn);
      batches.set(partitionId, batch);
      batch.#request.add(payload, userHeaders.length === 0 ? undefined : userHeaders, originTimestampBig, id);
      batch.#keys.push({ key, messages: 1 });
    });
    return [...batches.values()];
  }
}
