import type { Readable } from "node:stream";
import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { TopicApi } from "../api/topics.js";
import type { CallScope, MakeReadable } from "../client/platform.js";
import { ClientShutdownError, errorOf, FeatureUnavailableError, IggyError, ValidationError } from "../errors/index.js";
import type { Producer } from "../producer/producer.js";
import type { ProducerOptions } from "../producer/producer-options.js";
import {
  type ConsumerEventName,
  type ConsumerEvents,
  type PartitionFigures,
  Reading,
  type ReadingParts,
} from "../reader/index.js";
import type { Random } from "../time/backoff.js";
import { sleep } from "../time/sleep.js";
import { type U64Like, u32 } from "../values/check.js";
import type { Id } from "../values/id.js";
import { CommitPolicy } from "../values/poll-options.js";
import { checkStrategy, type PollingStrategy } from "../values/polling-strategy.js";
import type { Checkpoint } from "../values/position.js";
import type { ConsumerSettings } from "./consumer-options.js";
import { Delivery, type Delivered } from "./delivery.js";
import {
  type DeadLetter,
  DeadLetters,
  type HandleOptions,
  HandlerLoop,
  type HandleSettings,
  handleSettings,
  type MessageHandler,
  type RunOptions,
} from "./handling/index.js";
import type { Received } from "./received.js";
import { toReadableStream } from "./streams.js";

/** What a consumer needs of its client. */
export interface ConsumerParts extends ReadingParts {
  readonly topics: TopicApi;
  readonly producer: (options: ProducerOptions) => Producer;
  /** Knows what is called from inside a handler, where the runtime can tell. */
  readonly scope: CallScope | undefined;
  /** Makes streams of Node.js, where there are some. */
  readonly readable: MakeReadable | undefined;
  readonly random: Random;
  readonly onClose: () => void;
}

/**
 * Reads partitions of a topic, message by message, in the order of each partition: with `for await`, with `handle`, or
 * as a stream, one of them at a time. `close()` or `await using` stores what is counted and leaves the group; a consumer
 * that is not closed stays in its group until the session ends.
 */
export class MessageConsumer<Value = Uint8Array> implements AsyncDisposable, AsyncIterable<Received<Value>> {
  readonly #settings: ConsumerSettings;
  readonly #parts: ConsumerParts;
  readonly #reading: Reading;
  readonly #delivery: Delivery;
  readonly #closed = new AbortController();
  #initialized: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #handling: HandlerLoop<Value> | undefined;
  /** Last message of each partition up to which everything is handled, while handlers run. */
  readonly #handled = new Map<number, Checkpoint>();

  /** @internal */
  constructor(settings: ConsumerSettings, parts: ConsumerParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#reading = new Reading(settings.read, parts, {
      isThrown: (error, kind) => this.#isThrown(error, kind),
      onForget: (partitionId) => this.#onForget(partitionId),
    });
    this.#delivery = new Delivery(this.#reading, settings.allowReplay);
    const { signal } = settings;
    if (signal?.aborted === true) void this.close();
    else signal?.addEventListener("abort", () => void this.close(), { signal: this.#closed.signal });
  }

  get streamId(): Id {
    return this.#settings.read.streamId;
  }

  get topicId(): Id {
    return this.#settings.read.topicId;
  }

  /** The partitions that are read now. */
  get partitions(): readonly number[] {
    return this.#reading.partitions;
  }

  /** Partition of the last message that was handed over. */
  get partitionId(): number | undefined {
    return this.#delivery.lastPartition;
  }

  /** How the reading of every partition stands now. */
  get state(): readonly PartitionFigures[] {
    return this.partitions.flatMap((partitionId) => this.figures(partitionId) ?? []);
  }

  /** How the reading of a partition stands, its lag in messages and time among it; undefined for one not read here. */
  figures(partitionId: number): PartitionFigures | undefined {
    const unfinished = this.#handling?.firstUnfinished(partitionId);
    return unfinished === undefined
      ? this.#reading.figures(partitionId)
      : this.#reading.figures(partitionId, {
          next: unfinished.checkpoint.offset,
          last: this.#handled.get(partitionId)?.offset,
        });
  }

  /** Offset of the last message that was handed over from a partition. */
  lastConsumedOffset(partitionId: number): bigint | undefined {
    return this.#reading.lastDelivered(partitionId)?.offset;
  }

  /** Offset that this consumer stored last for a partition. */
  lastStoredOffset(partitionId: number): bigint | undefined {
    return this.#reading.lastStored(partitionId);
  }

  /** Checks the topic, joins the group, starts reading. The first read calls it. */
  init(): Promise<void> {
    this.#initialized ??= this.#init().catch((error: unknown) => {
      this.#initialized = undefined;
      throw error;
    });
    return this.#initialized;
  }

  /** The next message; `done` once the consumer is closed. An abort of `signal` keeps the message for the next call. */
  async next({ signal }: { readonly signal?: AbortSignal } = {}): Promise<IteratorResult<Received<Value>, undefined>> {
    this.#throwIfHandling();
    if (!(await this.#isReading())) return { done: true, value: undefined };
    this.#countProcessed();
    for (;;) {
      if (this.#closing !== undefined) return { done: true, value: undefined };
      const received = this.#deliver();
      if (received !== undefined) return { done: false, value: received };
      const fault = this.#reading.takeFault();
      if (fault !== undefined) throw fault;
      signal?.throwIfAborted();
      await this.#reading.news(signal);
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<Received<Value>, undefined> {
    return {
      next: () => this.next(),
      // The loop was left, by `break` or by an error: nobody says that its last message was processed.
      return: () => {
        this.#delivery.release();
        return Promise.resolve({ done: true as const, value: undefined });
      },
    };
  }

  /**
   * The messages in groups: all that are there at the moment, up to `maxMessages` (1000), each group of one partition.
   * Under `Auto` with `processing` a group counts when the next one is asked for.
   */
  async *batches({ maxMessages = 1000 }: { readonly maxMessages?: number } = {}): AsyncGenerator<
    readonly Received<Value>[],
    undefined
  > {
    const limit = checkedBatchLimit(maxMessages);
    for await (const first of this) {
      const batch = [first];
      while (batch.length < limit && !this.#delivery.isBatchDone(first.partitionId) && this.#closing === undefined) {
        const next = this.#deliver(first.partitionId);
        if (next === undefined) break;
        batch.push(next);
      }
      yield batch;
    }
    return undefined;
  }

  /**
   * Calls a handler for every message. A handler that fails ends the run, and its message stays uncounted. Offsets are
   * stored as the commit policy says; a message counts when its handler, and those of the messages before it, are done.
   */
  run(handler: MessageHandler<Value>, options: RunOptions = {}): Promise<void> {
    const { commit } = this.#settings.read.limits;
    const { signal, concurrency = 1 } = options;
    const settings = handleSettings<Value>(
      {
        concurrency,
        orderBy: "none",
        ...(signal === undefined ? {} : { signal }),
        // What the server stored as it was read is not taken before it can start.
        ...(this.#reading.commitsOnRead ? { pendingMessages: concurrency } : {}),
      },
      this.#parts.random,
    );
    const counts = commit.kind === "auto" && commit.after === "processing";
    return this.#handle(handler, settings, counts);
  }

  /**
   * Calls a handler for every message, several at a time, and stores offsets itself: of a partition always the one in
   * front of its first unfinished message, as `CommitPolicy.Auto` says or every 5 s. After a crash what was unfinished
   * or not yet stored is handled again, nothing is passed over. Resolves when the consumer is closed or `signal` aborts,
   * and everything at work has ended; rejects when a message can not be handled and there is no dead-letter topic.
   */
  handle(handler: MessageHandler<Value>, options: HandleOptions<Value> = {}): Promise<void> {
    const settings = handleSettings(options, this.#parts.random);
    this.#checkHandledCommit();
    this.#reading.commitBy(CommitPolicy.Auto());
    return this.#handle(handler, settings, true);
  }

  /** Stores the position of a message that this consumer handed over. It never moves back. */
  async commit(checkpoint: Checkpoint, options?: CallOptions): Promise<void> {
    await this.#reading.commit(checkpoint, options);
  }

  /** Counts a message as consumed, and those before it; for `Auto` with `after: "marked"`. */
  mark(checkpoint: Checkpoint): void {
    this.#reading.mark(checkpoint);
  }

  /** Moves a partition. What was read ahead is dropped; a partition that stopped is read again. */
  async seek(partitionId: number, strategy: PollingStrategy): Promise<void> {
    checkStrategy(strategy, u32("partitionId", partitionId));
    await this.init();
    await this.#reading.seek(partitionId, strategy);
  }

  /**
   * Stores an offset as it is, under the history of the last message that came from the partition. It may move back;
   * reading goes on where it is, except with `OnRead`, where the stored offset is the position.
   */
  async storeOffset(offset: U64Like, partitionId?: number, options?: CallOptions): Promise<void> {
    await this.#reading.storeOffset(this.#partitionOf(partitionId), offset, options);
  }

  /** Forgets the stored offset of a partition. */
  async deleteOffset(partitionId?: number, options?: CallOptions): Promise<void> {
    await this.#reading.deleteOffset(this.#partitionOf(partitionId), options);
  }

  /** Reads nothing from these partitions, or from all, until `resume`. What was read ahead stays. */
  pause(partitions: readonly number[] = this.partitions): void {
    this.#reading.setPaused(partitions, true);
  }

  resume(partitions: readonly number[] = this.partitions): void {
    this.#reading.setPaused(partitions, false);
  }

  /** The messages as a stream of Node.js. Destroying it, or an error of it, closes the consumer. */
  readable(): Readable {
    if (this.#parts.readable === undefined) {
      throw new FeatureUnavailableError("readable() needs Node.js; toReadableStream() works everywhere");
    }
    return this.#parts.readable(this);
  }

  /** The messages as a WHATWG stream. Cancelling it, or an error of it, closes the consumer. */
  toReadableStream(): ReadableStream<Received<Value>> {
    return toReadableStream(this);
  }

  on<Name extends ConsumerEventName>(name: Name, listener: (event: ConsumerEvents[Name]) => void): this {
    this.#reading.events.on(name, listener);
    return this;
  }

  off<Name extends ConsumerEventName>(name: Name, listener: (event: ConsumerEvents[Name]) => void): this {
    this.#reading.events.off(name, listener);
    return this;
  }

  /**
   * Ends reading, waits for handlers at work, stores what is counted, leaves the group. Once it resolves no handler is
   * called. May be called from inside the loop that reads; inside a handler it asks for the end and resolves at once,
   * and the end comes when the handlers are done. Without `graceful` nothing is awaited, stored or left.
   */
  close({ graceful = true }: { readonly graceful?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#close(graceful);
    return this.#parts.scope?.isInside === true ? Promise.resolve() : this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Start

  /** False when the consumer is closed, before or while it starts. */
  async #isReading(): Promise<boolean> {
    if (this.#closing !== undefined) return false;
    try {
      await this.init();
      return true;
    } catch (error) {
      if (this.#reading.signal.aborted) return false;
      throw error;
    }
  }

  async #init(): Promise<void> {
    const { retries, intervalMs } = this.#settings.init;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#start();
        return;
      } catch (error) {
        if (attempt >= retries || !isMissing(error)) throw error;
        await sleep(intervalMs, { signal: this.#reading.signal });
      }
    }
  }

  async #start(): Promise<void> {
    const { streamId, topicId } = this.#settings.read;
    const topic = await this.#parts.topics.get({ streamId, topicId }, { signal: this.#reading.signal });
    if (topic === null) {
      throw errorOf(ErrorCode.TopicIdNotFound, "the consumer's topic does not exist", {
        context: { streamId, topicId },
      });
    }
    await this.#reading.start();
  }

  // Delivery

  #deliver(partitionId?: number): Received<Value> | undefined {
    const delivered = this.#delivery.next(partitionId);
    if (delivered === undefined) return undefined;
    if (this.#countsAfter("delivery")) this.#count(delivered.checkpoint);
    return this.#received(delivered);
  }

  #received({ message, checkpoint, currentOffset }: Delivered): Received<Value> {
    return {
      message,
      partitionId: checkpoint.partitionId,
      currentOffset,
      lag: currentOffset > checkpoint.offset ? currentOffset - checkpoint.offset : 0n,
      checkpoint,
      value: () => this.#valueOf(message.payload),
      commit: (options) => this.commit(checkpoint, options),
      mark: () => this.mark(checkpoint),
    };
  }

  #valueOf(payload: Uint8Array): Value | Promise<Value> {
    // Who makes a consumer says what its codec gives; without one that is the bytes.
    return (this.#settings.payload?.decode(payload) ?? payload) as Value | Promise<Value>;
  }

  /** The application is done with the message in hand. */
  #countProcessed(): void {
    const done = this.#delivery.finish();
    if (done !== undefined && this.#countsAfter("processing")) this.#count(done.checkpoint, done.messages);
  }

  #countsAfter(after: "processing" | "delivery"): boolean {
    const { commit } = this.#settings.read.limits;
    return commit.kind === "auto" && commit.after === after;
  }

  #count(checkpoint: Checkpoint, messages = 1): void {
    this.#reading.count(checkpoint, messages);
    const { commit } = this.#settings.read.limits;
    if (commit.kind === "auto" && commit.everyBatch && this.#delivery.isBatchDone(checkpoint.partitionId)) {
      void this.#reading.flush(checkpoint.partitionId);
    }
  }

  #partitionOf(partitionId: number | undefined): number {
    const [only, ...others] = this.partitions;
    const partition = partitionId ?? this.partitionId ?? (others.length === 0 ? only : undefined);
    if (partition === undefined) {
      throw new ValidationError(ErrorCode.InvalidCommand, "partitionId: name the partition, nothing was consumed yet");
    }
    return u32("partitionId", partition);
  }

  #isThrown(error: IggyError, kind: "passing" | "lasting" | "final"): boolean {
    if (error instanceof ClientShutdownError) return true;
    switch (this.#settings.onError) {
      case "throw":
        return true;
      case "continue":
        return false;
      case undefined:
        return kind === "final";
    }
  }

  #onForget(partitionId: number): void {
    this.#delivery.forget(partitionId);
    this.#handled.delete(partitionId);
    this.#handling?.forget(partitionId);
  }

  // Handlers

  #throwIfHandling(): void {
    if (this.#handling === undefined) return;
    throw new ValidationError(ErrorCode.InvalidCommand, "the messages of this consumer go to a handler already");
  }

  #checkHandledCommit(): void {
    const { limits } = this.#settings.read;
    const { commit } = limits;
    if (!this.#settings.isCommitChosen || (commit.kind === "auto" && commit.after === "processing")) return;
    throw new ValidationError(
      ErrorCode.InvalidConfiguration,
      "pollOptions.commit: handle stores offsets itself; leave it out or take CommitPolicy.Auto, or use run",
    );
  }

  async #handle(handler: MessageHandler<Value>, settings: HandleSettings<Value>, counts: boolean): Promise<void> {
    if (typeof handler !== "function") throw new TypeError("handler takes a function");
    this.#throwIfHandling();
    const deadLetters = settings.deadLetter === undefined ? undefined : this.#makeDeadLetters(settings.deadLetter);
    const { scope } = this.#parts;
    const loop = new HandlerLoop(handler, settings, {
      take: () => {
        const received = this.#deliver();
        // It is in the hands of the handlers, whose end says when it counts.
        this.#delivery.release();
        return received;
      },
      takeFault: () => this.#reading.takeFault(),
      news: (signal) => this.#reading.news(signal),
      partitionsCount: () => this.#reading.partitions.length,
      hold: (partitionId, isHeld) => this.#reading.setHeld(partitionId, isHeld),
      onAdvance: (checkpoint, messages) => {
        this.#handled.set(checkpoint.partitionId, checkpoint);
        if (counts) this.#count(checkpoint, messages);
      },
      onRetry: ({ checkpoint: { partitionId, offset } }, error) =>
        this.#reading.events.emit("retry", { partitionId, offset, error }),
      onDeadLetter: ({ checkpoint: { partitionId, offset } }, error, attempts) =>
        this.#reading.events.emit("dead-letter", { partitionId, offset, error, attempts }),
      inside: (call) => (scope === undefined ? call() : scope.run(call)),
      deadLetters,
    });
    this.#handling = loop;
    try {
      if (!(await this.#isReading())) return;
      // What was handed over before belongs to the loop that had it.
      this.#countProcessed();
      await loop.run();
    } finally {
      this.#handling = undefined;
      this.#handled.clear();
      // Messages that were taken and not handled come again, for whoever reads next.
      for (const { checkpoint } of loop.unfinished) this.#reading.takeBack(checkpoint);
      await deadLetters?.close(!this.#reading.signal.aborted);
    }
  }

  #makeDeadLetters({ streamId, topicId, partitioning, createTopic }: DeadLetter): DeadLetters {
    const { read } = this.#settings;
    const producer = this.#parts.producer({
      streamId,
      topicId,
      createStream: false,
      encryptor: read.encryptor ?? false,
      ...(partitioning === undefined ? {} : { partitioning }),
      ...(createTopic === undefined ? {} : { createTopic }),
    });
    return new DeadLetters(producer, { streamId: this.streamId, topicId: this.topicId, consumer: read.consumer.id });
  }

  // The end

  async #close(graceful: boolean): Promise<void> {
    const drain = AbortSignal.timeout(graceful ? this.#settings.offsetDrainTimeoutMs : 0);
    await this.#endHandlers(graceful, drain);
    // What is in hand counts, unless the loop that had it was left.
    this.#countProcessed();
    await this.#reading.close(graceful, drain, (batches) => this.#delivery.undelivered(batches), this.#initialized);
    this.#closed.abort();
    this.#parts.onClose();
  }

  async #endHandlers(graceful: boolean, drain: AbortSignal): Promise<void> {
    const handling = this.#handling;
    if (handling === undefined) return;
    handling.stop();
    // Handlers run on while partitions are read on; nothing of that is handed over any more.
    if (graceful) await endedBy(handling.ended(), drain);
    handling.abort();
  }
}

async function endedBy(work: Promise<void>, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
    void work.then(resolve);
  });
}

const isMissing = (error: unknown): boolean =>
  [
    ErrorCode.StreamIdNotFound,
    ErrorCode.StreamNameNotFound,
    ErrorCode.TopicIdNotFound,
    ErrorCode.TopicNameNotFound,
  ].some((code) => IggyError.is(error, code));

function checkedBatchLimit(maxMessages: number): number {
  if (Number.isInteger(maxMessages) && maxMessages >= 1) return maxMessages;
  throw new RangeError(`maxMessages takes an integer of at least 1, got ${String(maxMessages)}`);
}
