import { ErrorCode } from "@iggy/protocol";
import type { Writable } from "node:stream";
import type { CallOptions } from "../api/caller.js";
import type { MessageDefaults } from "../api/outgoing-messages.js";
import type { SendCalls, SendResult } from "../api/sends.js";
import type { StreamApi } from "../api/streams.js";
import { topicTarget, type TopicApi } from "../api/topics.js";
import type { MakeWritable } from "../client/platform.js";
import { errorOf, FeatureUnavailableError, type IggyError, ProducerClosedError } from "../errors/index.js";
import { topicSpelling } from "../routing/spelling.js";
import { sleep } from "../time/sleep.js";
import type { BytesLike } from "../values/check.js";
import type { Id } from "../values/id.js";
import { type Partitioning, toPartitioning } from "../values/partitioning.js";
import { BackgroundSends } from "./background/background-sends.js";
import { BatchSender } from "./batch-sender.js";
import { DirectSends } from "./direct-sends.js";
import { IdempotentSends } from "./idempotent/idempotent-sends.js";
import { type ProducerTopic, requestLimits } from "./outgoing-batch.js";
import { PartitionChooser } from "./partition-chooser.js";
import { checkedList, prepared, type ProducerMessage } from "./prepared-send.js";
import {
  type ProducerDefaults,
  type ProducerOptions,
  producerSettings,
  type ProducerSettings,
} from "./producer-options.js";
import type { SendSteps, SendWork } from "./send-work.js";

export interface ProducerSendOptions extends CallOptions {
  /** For this send alone. */
  readonly partitioning?: Partitioning;
}

export interface SendTo<Payload = BytesLike> {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly messages: readonly ProducerMessage<Payload>[];
  readonly partitioning?: Partitioning;
}

/** What a producer needs of its client. */
export interface ProducerParts {
  readonly sends: SendCalls;
  readonly stream: StreamApi;
  readonly topic: TopicApi;
  readonly messages: MessageDefaults;
  readonly defaults: ProducerDefaults;
  /** Bytes of frames that the client holds at most. */
  readonly maxPendingBytes: number;
  /** Lets go of an operation whose outcome is unknown. */
  readonly abandon: (operationId: bigint) => void;
  /** Takes errors that no call of the application is there for. */
  readonly onError: (error: unknown) => void;
  readonly onClose: (producer: Closing) => void;
  /** Where the runtime has streams of Node.js. */
  readonly writable: MakeWritable | undefined;
}

interface Closing {
  close(options: { readonly graceful: boolean }): Promise<void>;
}

/**
 * Sends messages to a topic. In direct mode `send` resolves when its messages are committed; in background mode when they
 * are queued, and failures go to `onError`. Sends of one producer to one partition keep the order of the calls.
 */
export class Producer<Payload = BytesLike> implements AsyncDisposable {
  readonly #parts: ProducerParts;
  readonly #settings: ProducerSettings;
  readonly #own: ProducerTopic;
  readonly #sends: DirectSends | BackgroundSends;
  #initialized: Promise<void> | undefined;
  #isInitialized = false;
  #isClosed = false;

  /** @internal */
  constructor(options: ProducerOptions, parts: ProducerParts) {
    const settings = producerSettings(options, parts.defaults);
    this.#settings = settings;
    this.#parts = parts;
    this.#own = producerTopic(settings.streamId, settings.topicId);
    this.#sends = this.#makeSends();
  }

  get streamId(): Id {
    return this.#settings.streamId;
  }

  get topicId(): Id {
    return this.#settings.topicId;
  }

  /** Creates the stream and the topic when they are missing and may be created. The first send calls it. */
  init(): Promise<void> {
    this.#initialized ??= this.#init().then(
      () => {
        this.#isInitialized = true;
      },
      (error: unknown) => {
        this.#initialized = undefined;
        throw error;
      },
    );
    return this.#initialized;
  }

  /**
   * Direct: sends in chunks of `batchLength`, one after the other, and resolves with where they are. Rejects with
   * `ProducerSendFailedError`, which holds the messages that are not confirmed. Background: queues the messages and
   * resolves without confirmations; their bytes are copied before that. Rejects only for what is not queued.
   */
  send(
    messages: readonly ProducerMessage<Payload>[] | ProducerMessage<Payload>,
    options: ProducerSendOptions = noOptions,
  ): Promise<SendResult> {
    const list = isList(messages) ? messages : [messages];
    return this.#send(this.#own, list, options.partitioning, options);
  }

  sendOne(message: ProducerMessage<Payload>, options?: ProducerSendOptions): Promise<SendResult> {
    return this.send([message], options);
  }

  /** Sends to another topic. It must exist. */
  async sendTo(to: SendTo<Payload>, options: CallOptions = noOptions): Promise<SendResult> {
    const { streamId, topicId } = this.#settings;
    const isOwn = to.streamId === streamId && to.topicId === topicId;
    const topic = isOwn ? this.#own : producerTopic(to.streamId, to.topicId);
    return this.#send(topic, to.messages, to.partitioning, options);
  }

  /** The same as a stream of Node.js, in object mode. */
  writable(): Writable {
    if (this.#parts.writable === undefined) {
      throw new FeatureUnavailableError("writable() needs Node.js; toWritableStream() works everywhere");
    }
    return this.#parts.writable({
      write: async (item) =>
        this.#send(this.#own, checkedList(Array.isArray(item) ? item : [item]), undefined, noOptions),
      end: () => this.flush(),
    });
  }

  /**
   * A stream of the web that sends what is written to it, one message or a list at a time. It takes more when the last
   * write is done; ending it flushes the producer.
   */
  toWritableStream(): WritableStream<ProducerMessage<Payload> | readonly ProducerMessage<Payload>[]> {
    return new WritableStream({
      write: async (messages) => {
        await this.send(messages);
      },
      close: () => this.flush(),
    });
  }

  /** Waits for what was sent so far. Errors of direct sends belong to those who called them, others to `onError`. */
  flush(): Promise<void> {
    return this.#sends.flush();
  }

  /**
   * Refuses further sends and waits for those under way and for what is queued. Without grace it does not wait, and what
   * is queued is reported as failed.
   */
  async close({ graceful = true }: { readonly graceful?: boolean } = {}): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#parts.onClose(this);
    }
    if (graceful) await this.flush();
    else if (this.#sends instanceof BackgroundSends) this.#sends.drop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send(
    topic: ProducerTopic,
    messages: readonly ProducerMessage<unknown>[],
    partitioning: Partitioning | undefined,
    options: CallOptions,
  ): Promise<SendResult> {
    if (this.#isClosed) return Promise.reject(new ProducerClosedError());
    if (messages.length === 0) return Promise.resolve(nothing);
    let work: SendWork;
    try {
      const chosen = partitioning === undefined ? this.#settings.partitioning : toPartitioning(partitioning);
      work = { topic, messages, partitioning: chosen, options };
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
    return this.#sends.send(work);
  }

  #makeSends(): DirectSends | BackgroundSends {
    const { sends, messages, maxPendingBytes, abandon, onError } = this.#parts;
    const { partitioner, idempotent, timeoutMs, batchLength, gapMs, background } = this.#settings;
    const ownTopic = this.#own.spelling;
    const numbered =
      idempotent === undefined
        ? undefined
        : new IdempotentSends({ sends, abandon, settings: idempotent, ownTopic, owner: this });
    const sender = new BatchSender(sends, numbered, this);
    const chooser = new PartitionChooser(sends, partitioner);
    const limits = requestLimits(batchLength, maxPendingBytes);
    const { ids } = messages;
    const steps = this.#steps();
    if (background === undefined)
      return new DirectSends({ sends, sender, chooser, ids, limits, gapMs, timeoutMs }, steps);
    const parts = { sends, sender, chooser, ids, requests: limits, settings: background, timeoutMs, ownTopic, onError };
    return new BackgroundSends(parts, steps);
  }

  #steps(): SendSteps {
    const { payload: codec, tracing, encryptor } = this.#settings;
    const { clock } = this.#parts.messages;
    return {
      // Another topic than the producer's own is not made here.
      initialized: ({ topic }) => (topic !== this.#own || this.#isInitialized ? undefined : this.init()),
      prepared: ({ messages }) => prepared(messages, { codec, headers: tracing?.headers(), time: Number(clock()) }),
      sealed: encryptor === undefined ? undefined : (send) => send.sealed(encryptor),
    };
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

const noOptions: ProducerSendOptions = {};
const nothing: SendResult = { confirmations: [] };

const isList = <Payload>(
  messages: readonly ProducerMessage<Payload>[] | ProducerMessage<Payload>,
): messages is readonly ProducerMessage<Payload>[] => Array.isArray(messages);

function producerTopic(streamId: Id, topicId: Id): ProducerTopic {
  const name = topicTarget(streamId, topicId);
  return { name, spelling: topicSpelling(name), about: { streamId, topicId } };
}

const missing = (code: number, context: Readonly<Record<string, unknown>>): IggyError =>
  errorOf(code, `the producer's ${code === ErrorCode.StreamIdNotFound ? "stream" : "topic"} does not exist`, {
    context,
  });
