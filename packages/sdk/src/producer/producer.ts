import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import { type CreateMessage, type MessageDefaults, toMessageInputs } from "../api/outgoing-messages.js";
import type { SendCalls, SendConfirmation, SendResult } from "../api/sends.js";
import type { StreamApi } from "../api/streams.js";
import { topicTarget, type TopicApi } from "../api/topics.js";
import type { Partitioner } from "../client/config.js";
import { errorOf, IggyError, ProducerClosedError, ProducerSendFailedError } from "../errors/index.js";
import { sleep } from "../time/sleep.js";
import { monotonicMs } from "../time/timers.js";
import { u32 } from "../values/check.js";
import type { Id } from "../values/id.js";
import { Partitioning, toPartitioning } from "../values/partitioning.js";
import { type ProducerOptions, producerSettings, type ProducerSettings } from "./producer-options.js";

export interface ProducerSendOptions extends CallOptions {
  /** For this send alone. */
  readonly partitioning?: Partitioning;
}

export interface SendTo {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly messages: readonly CreateMessage[];
  readonly partitioning?: Partitioning;
}

/** What a producer needs of its client. */
export interface ProducerParts {
  readonly sends: SendCalls;
  readonly stream: StreamApi;
  readonly topic: TopicApi;
  readonly defaults: MessageDefaults;
  readonly partitioner: Partitioner | undefined;
  readonly onClose: (producer: Producer) => void;
}

/**
 * Sends messages to a topic. `send` resolves when its messages are committed. Sends of one producer to one partition take
 * effect in the order of the calls.
 */
export class Producer implements AsyncDisposable {
  readonly #parts: ProducerParts;
  readonly #settings: ProducerSettings;
  readonly #underWay = new Set<Promise<unknown>>();
  #initialized: Promise<void> | undefined;
  #isClosed = false;
  #lastSentAt = -Infinity;

  /** @internal */
  constructor(options: ProducerOptions, parts: ProducerParts) {
    this.#settings = producerSettings(options);
    this.#parts = parts;
  }

  get streamId(): Id {
    return this.#settings.streamId;
  }

  get topicId(): Id {
    return this.#settings.topicId;
  }

  /** Creates the stream and the topic when they are missing and may be created. The first send calls it. */
  init(): Promise<void> {
    this.#initialized ??= this.#init().catch((error: unknown) => {
      this.#initialized = undefined;
      throw error;
    });
    return this.#initialized;
  }

  /**
   * Sends messages in chunks of `batchLength`, one after the other. Rejects with `ProducerSendFailedError`, which holds
   * the messages that are not confirmed.
   */
  async send(messages: readonly CreateMessage[] | CreateMessage, options?: ProducerSendOptions): Promise<SendResult> {
    const list = isList(messages) ? messages : [messages];
    const { streamId, topicId } = this.#settings;
    return this.#track(() => this.#send(streamId, topicId, list, options?.partitioning, options));
  }

  sendOne(message: CreateMessage, options?: ProducerSendOptions): Promise<SendResult> {
    return this.send([message], options);
  }

  /** Sends to another topic. It must exist. */
  async sendTo(to: SendTo, options?: CallOptions): Promise<SendResult> {
    return this.#track(() => this.#send(to.streamId, to.topicId, to.messages, to.partitioning, options));
  }

  /** Waits for the sends that are under way. Their errors belong to those who called them. */
  async flush(): Promise<void> {
    await Promise.allSettled([...this.#underWay]);
  }

  /** Refuses further sends and waits for those under way, unless it is to end at once. */
  async close({ graceful = true }: { readonly graceful?: boolean } = {}): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#parts.onClose(this);
    }
    if (graceful) await this.flush();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #track<T>(step: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new ProducerClosedError();
    const work = step();
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  async #send(
    streamId: Id,
    topicId: Id,
    messages: readonly CreateMessage[],
    partitioning: Partitioning | undefined,
    options: CallOptions | undefined,
  ): Promise<SendResult> {
    if (messages.length === 0) return { confirmations: [] };
    const topic = topicTarget(streamId, topicId);
    // Every message is checked before the first one leaves.
    const inputs = toMessageInputs(messages, this.#parts.defaults);
    // Another topic than the producer's own is not made here.
    if (streamId === this.streamId && topicId === this.topicId) await this.init();
    await this.#linger(options?.signal);
    const committed: SendConfirmation[] = [];
    const { batchLength } = this.#settings;
    for (let at = 0; at < inputs.length; at += batchLength) {
      const chunk = inputs.slice(at, at + batchLength);
      try {
        const { confirmations } = await this.#parts.sends.send(
          {
            topic,
            messages: chunk,
            partitioning: await this.#partitioningOf(
              streamId,
              topicId,
              messages.slice(at, at + batchLength),
              partitioning,
            ),
            about: { streamId, topicId },
            owner: this,
          },
          options,
        );
        committed.push(...confirmations);
        this.#lastSentAt = monotonicMs();
      } catch (error) {
        throw new ProducerSendFailedError({
          cause: error,
          failed: messages.slice(at),
          uncertain: mayHaveCommitted(error) ? chunk.length : 0,
          committed,
          streamName: String(streamId),
          topicName: String(topicId),
        });
      }
    }
    return { confirmations: committed };
  }

  async #partitioningOf(
    streamId: Id,
    topicId: Id,
    messages: readonly CreateMessage[],
    given: Partitioning | undefined,
  ): Promise<Partitioning> {
    const partitioner = this.#settings.partitioner ?? this.#parts.partitioner;
    if (partitioner !== undefined) {
      return Partitioning.PartitionId(
        u32("the partitioner's result", await partitioner({ streamId, topicId, messages })),
      );
    }
    return toPartitioning(given ?? this.#settings.partitioning);
  }

  /** Keeps the least gap between sends. */
  async #linger(signal: AbortSignal | undefined): Promise<void> {
    const waitMs = this.#lastSentAt + this.#settings.lingerMs - monotonicMs();
    if (waitMs > 0) await sleep(waitMs, signal === undefined ? {} : { signal });
  }

  async #init(): Promise<void> {
    const { retries, intervalMs } = this.#settings.init;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#createMissing();
        return;
      } catch (error) {
        if (attempt >= retries) throw error;
        await sleep(intervalMs);
      }
    }
  }

  async #createMissing(): Promise<void> {
    const { streamId, topicId, createStream, createTopic } = this.#settings;
    const { stream, topic } = this.#parts;
    if ((await stream.get({ streamId })) === null) {
      // A number names what exists; it can not become the name of something new.
      if (!createStream || typeof streamId !== "string") throw missing(ErrorCode.StreamIdNotFound, { streamId });
      await stream.ensure(streamId);
    }
    if ((await topic.get({ streamId, topicId })) !== null) return;
    if (createTopic === false || typeof topicId !== "string") {
      throw missing(ErrorCode.TopicIdNotFound, { streamId, topicId });
    }
    await topic.ensure({ ...createTopic, streamId, name: topicId });
  }
}

const isList = (messages: readonly CreateMessage[] | CreateMessage): messages is readonly CreateMessage[] =>
  Array.isArray(messages);

const missing = (code: number, context: Readonly<Record<string, unknown>>): IggyError =>
  errorOf(code, `the producer's ${code === ErrorCode.StreamIdNotFound ? "stream" : "topic"} does not exist`, {
    context,
  });

/** Errors after which the messages of the request may be in the topic. */
const mayHaveCommitted = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.OperationUncertain) || IggyError.is(error, ErrorCode.TransientNotCommitted);
