import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { GroupApi } from "../api/groups.js";
import type { OffsetApi } from "../api/offsets.js";
import type { OperationApi } from "../api/operations.js";
import type { PollCalls } from "../api/polls.js";
import { type TopicApi, topicTarget } from "../api/topics.js";
import { ClientShutdownError, errorOf, IggyError, ValidationError } from "../errors/index.js";
import { TypedEmitter } from "../events/typed-emitter.js";
import { sleep } from "../time/sleep.js";
import { type U64Like, u32, u64 } from "../values/check.js";
import { toConsumer } from "../values/consumer.js";
import type { Id } from "../values/id.js";
import type { Message } from "../values/message.js";
import { CommitPolicy } from "../values/poll-options.js";
import type { PolledMessages } from "../values/polled-messages.js";
import { checkStrategy, PollingStrategy } from "../values/polling-strategy.js";
import type { Checkpoint } from "../values/position.js";
import type { ConsumerEventName, ConsumerEvents } from "./consumer-events.js";
import { ConsumerOffsets } from "./consumer-offsets.js";
import type { ConsumerSettings } from "./consumer-options.js";
import { Delivery } from "./delivery.js";
import { Membership } from "./membership.js";
import { OffsetCommitter } from "./offset-committer.js";
import { FaultPolicy } from "./read-faults.js";
import { ReadScheduler } from "./read-scheduler.js";

/** One message as a consumer hands it over. */
export interface Received {
  readonly message: Message;
  readonly partitionId: number;
  /** Offset of the last message of the partition when the read was served. */
  readonly currentOffset: bigint;
  /** Messages of the partition behind this one. */
  readonly lag: bigint;
  readonly checkpoint: Checkpoint;
  /** Stores the position of this message. */
  commit(options?: CallOptions): Promise<void>;
  /** Counts this message as consumed, under `Auto` with `after: "marked"`. */
  mark(): void;
}

/** What a consumer needs of its client. */
export interface ConsumerParts {
  readonly polls: PollCalls;
  readonly offsets: OffsetApi;
  readonly groups: GroupApi;
  readonly topics: TopicApi;
  readonly operations: OperationApi;
  readonly onClose: (consumer: MessageConsumer) => void;
}

/**
 * Reads partitions of a topic, message by message, in the order of each partition. `for await` is the usual way to read;
 * `close()` or `await using` stores what is counted and leaves the group.
 */
export class MessageConsumer implements AsyncDisposable, AsyncIterable<Received> {
  readonly #settings: ConsumerSettings;
  readonly #parts: ConsumerParts;
  readonly #emitter: TypedEmitter<ConsumerEvents> = new TypedEmitter((name, error) => {
    // An error listener that throws has nobody left to tell.
    if (name !== "error") this.#emitter.emit("error", { error });
  });
  readonly #scheduler: ReadScheduler;
  readonly #delivery: Delivery;
  readonly #offsets: ConsumerOffsets;
  readonly #faultPolicy: FaultPolicy;
  readonly #committer: OffsetCommitter | undefined;
  readonly #membership: Membership | undefined;
  /** Errors that end the reading of a partition, for the next read to throw. */
  readonly #faults: unknown[] = [];
  readonly #stopped = new AbortController();
  readonly #wakers = new Set<() => void>();
  #initialized: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(settings: ConsumerSettings, parts: ConsumerParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#scheduler = this.#makeScheduler();
    this.#delivery = new Delivery(this.#scheduler, settings.allowReplay);
    this.#offsets = new ConsumerOffsets(settings, parts.offsets, this.#delivery, this);
    this.#faultPolicy = this.#makeFaultPolicy();
    this.#committer = this.#makeCommitter();
    this.#membership = settings.partitions === undefined ? this.#makeMembership() : undefined;
    const { signal } = settings;
    if (signal?.aborted === true) void this.close();
    else signal?.addEventListener("abort", () => void this.close(), { signal: this.#stopped.signal });
  }

  get streamId(): Id {
    return this.#settings.streamId;
  }

  get topicId(): Id {
    return this.#settings.topicId;
  }

  /** The partitions that are read now. */
  get partitions(): readonly number[] {
    return this.#scheduler.partitions;
  }

  /** Partition of the last message that was handed over. */
  get partitionId(): number | undefined {
    return this.#delivery.lastPartition;
  }

  /** Offset of the last message that was handed over from a partition. */
  lastConsumedOffset(partitionId: number): bigint | undefined {
    return this.#delivery.lastDelivered(partitionId)?.offset;
  }

  /** Offset that this consumer stored last for a partition. */
  lastStoredOffset(partitionId: number): bigint | undefined {
    return this.#offsets.lastStored(partitionId);
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
  async next({ signal }: { readonly signal?: AbortSignal } = {}): Promise<IteratorResult<Received, undefined>> {
    if (!(await this.#isReading())) return { done: true, value: undefined };
    this.#countProcessed();
    for (;;) {
      if (this.#closing !== undefined) return { done: true, value: undefined };
      const received = this.#deliver();
      if (received !== undefined) return { done: false, value: received };
      if (this.#faults.length > 0) throw this.#faults.shift();
      signal?.throwIfAborted();
      await this.#news(signal);
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<Received, undefined> {
    return {
      next: () => this.next(),
      // The loop was left, by `break` or by an error: nobody says that its last message was processed.
      return: () => {
        this.#delivery.release();
        return Promise.resolve({ done: true as const, value: undefined });
      },
    };
  }

  /** Stores the position of a message that this consumer handed over. It never moves back. */
  async commit(checkpoint: Checkpoint, options?: CallOptions): Promise<void> {
    await this.#offsets.commit(checkpoint, options);
  }

  /** Counts a message as consumed; for `Auto` with `after: "marked"`. */
  mark(checkpoint: Checkpoint): void {
    if (this.#committer === undefined) {
      throw new ValidationError(ErrorCode.InvalidCommand, "mark needs the commit policy Auto");
    }
    if (this.#offsets.delivered(checkpoint) !== undefined) this.#committer.count(checkpoint);
  }

  /** Moves a partition. What was read ahead is dropped; a partition that stopped is read again. */
  async seek(partitionId: number, strategy: PollingStrategy): Promise<void> {
    checkStrategy(strategy, u32("partitionId", partitionId));
    await this.init();
    if (this.#offsets.commitsOnRead) await this.#offsets.storeBefore(partitionId, strategy);
    this.#forget(partitionId);
    this.#scheduler.seek(partitionId, firstIsZero(strategy));
  }

  /** Stores an offset as it is, under the history of the last message that came from the partition. */
  async storeOffset(offset: U64Like, partitionId?: number, options?: CallOptions): Promise<void> {
    const partition = this.#partitionOf(partitionId);
    const context = this.#delivery.lastDelivered(partition)?.context;
    await this.#offsets.store(partition, u64("offset", offset), context, options);
  }

  /** Forgets the stored offset of a partition. */
  async deleteOffset(partitionId?: number, options?: CallOptions): Promise<void> {
    const partition = this.#partitionOf(partitionId);
    await this.#offsets.delete(partition, this.#delivery.lastDelivered(partition)?.context, options);
  }

  /** Reads nothing from these partitions, or from all, until `resume`. What was read ahead stays. */
  pause(partitions: readonly number[] = this.partitions): void {
    for (const partition of partitions) this.#scheduler.setPaused(partition, true);
  }

  resume(partitions: readonly number[] = this.partitions): void {
    for (const partition of partitions) this.#scheduler.setPaused(partition, false);
    this.#wake();
  }

  on<Name extends ConsumerEventName>(name: Name, listener: (event: ConsumerEvents[Name]) => void): this {
    this.#emitter.on(name, listener);
    return this;
  }

  off<Name extends ConsumerEventName>(name: Name, listener: (event: ConsumerEvents[Name]) => void): this {
    this.#emitter.off(name, listener);
    return this;
  }

  /**
   * Ends reading, stores what is counted, leaves the group. May be called from inside the loop that reads. Without
   * `graceful` nothing is stored and the group is not left.
   */
  close({ graceful = true }: { readonly graceful?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#close(graceful);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // Reading

  /** False when the consumer is closed, before or while it starts. */
  async #isReading(): Promise<boolean> {
    if (this.#closing !== undefined) return false;
    try {
      await this.init();
      return true;
    } catch (error) {
      if (this.#stopped.signal.aborted) return false;
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
        await sleep(intervalMs, { signal: this.#stopped.signal });
      }
    }
  }

  async #start(): Promise<void> {
    const { streamId, topicId, partitions } = this.#settings;
    const topic = await this.#parts.topics.get({ streamId, topicId }, { signal: this.#stopped.signal });
    if (topic === null) {
      throw errorOf(ErrorCode.TopicIdNotFound, "the consumer's topic does not exist", {
        context: { streamId, topicId },
      });
    }
    if (this.#membership === undefined) {
      await this.#addPartitions(partitions ?? []);
      return;
    }
    await this.#membership.start();
    this.#emitter.emit("joined", {});
  }

  async #addPartitions(partitions: readonly number[]): Promise<void> {
    const starts = await Promise.all(
      partitions.map(async (partition) => [partition, await this.#startOf(partition)] as const),
    );
    this.#scheduler.add(starts);
  }

  /** A group goes on from its stored offset; the configured start is for a group that has none. */
  async #startOf(partition: number): Promise<PollingStrategy> {
    const start = firstIsZero(this.#settings.start);
    if (this.#membership === undefined || start.kind === "next") return start;
    return (await this.#offsets.isStored(partition, this.#stopped.signal)) ? PollingStrategy.Next : start;
  }

  #poll(
    partitionId: number,
    strategy: PollingStrategy,
    maxWaitMs: number,
    signal: AbortSignal,
  ): Promise<PolledMessages> {
    const { streamId, topicId, consumer, limits } = this.#settings;
    const commit = this.#offsets.commitsOnRead ? CommitPolicy.OnRead : CommitPolicy.Manual;
    return this.#parts.polls.poll(
      {
        consumer: toConsumer(consumer),
        partition: { ...topicTarget(streamId, topicId), partitionId },
        strategy,
        limits: { ...limits, maxWaitMs, commit },
        about: { streamId, topicId, partitionId },
        owner: this,
      },
      { signal },
    );
  }

  #deliver(): Received | undefined {
    const delivered = this.#delivery.next();
    if (delivered === undefined) return undefined;
    const { message, checkpoint, currentOffset } = delivered;
    const { commit } = this.#settings.limits;
    this.#faultPolicy.clear(checkpoint.partitionId);
    if (commit.kind === "auto" && commit.after === "delivery") this.#count(checkpoint);
    return {
      message,
      partitionId: checkpoint.partitionId,
      currentOffset,
      lag: currentOffset > checkpoint.offset ? currentOffset - checkpoint.offset : 0n,
      checkpoint,
      commit: (options) => this.commit(checkpoint, options),
      mark: () => this.mark(checkpoint),
    };
  }

  /** The application is done with the message in hand. */
  #countProcessed(): void {
    const { commit } = this.#settings.limits;
    const checkpoint = this.#delivery.finish();
    if (checkpoint !== undefined && commit.kind === "auto" && commit.after === "processing") this.#count(checkpoint);
  }

  #count(checkpoint: Checkpoint): void {
    const { commit } = this.#settings.limits;
    this.#committer?.count(checkpoint);
    if (commit.kind === "auto" && commit.everyBatch && this.#delivery.isBatchDone) {
      void this.#committer?.flush(checkpoint.partitionId);
    }
  }

  #partitionOf(partitionId: number | undefined): number {
    const [only, ...others] = this.partitions;
    const partition = partitionId ?? this.partitionId ?? (others.length === 0 ? only : undefined);
    if (partition === undefined) {
      throw new ValidationError(ErrorCode.InvalidCommand, "name the partition: nothing was consumed yet");
    }
    return u32("partitionId", partition);
  }

  #forget(partitionId: number): void {
    this.#delivery.forget(partitionId);
    this.#committer?.forget(partitionId);
    this.#offsets.forget(partitionId);
    this.#faultPolicy.clear(partitionId);
  }

  // Parts

  #makeScheduler(): ReadScheduler {
    const { slots, limits, retryIntervalMs } = this.#settings;
    const commitsOnRead = limits.commit.kind === "on-read";
    return new ReadScheduler({
      slots,
      maxWaitMs: limits.maxWaitMs,
      retryIntervalMs,
      commitsOnRead,
      poll: (partitionId, position, maxWaitMs, signal) => this.#poll(partitionId, position, maxWaitMs, signal),
      after: (polled) => (commitsOnRead ? nextAfter(polled) : polled.continuation),
      onBatch: () => this.#wake(),
      onFault: (partitionId, error, isBound) => this.#faultPolicy.decide(partitionId, error, isBound),
    });
  }

  #makeFaultPolicy(): FaultPolicy {
    return new FaultPolicy({
      retryIntervalMs: this.#settings.retryIntervalMs,
      lastDelivered: (partitionId) => this.#delivery.lastDelivered(partitionId),
      onRetry: (partitionId, error) => this.#emitter.emit("error", { error, partitionId }),
      onStop: (error) => {
        this.#faults.push(error);
        this.#wake();
      },
      onNotOwned: () => void this.#membership?.refresh(),
      abandon: (operationId) => {
        this.#parts.operations
          .abandon({ operationId })
          .catch((error: unknown) => this.#emitter.emit("error", { error }));
      },
    });
  }

  #makeCommitter(): OffsetCommitter | undefined {
    const { commit } = this.#settings.limits;
    if (commit.kind !== "auto") return undefined;
    return new OffsetCommitter({
      intervalMs: commit.intervalMs,
      everyMessages: commit.everyMessages,
      store: (partitionId, offset, context, signal) =>
        this.#offsets.store(partitionId, offset, context, signal === undefined ? {} : { signal }),
      onStored: (partitionId, offset) => this.#emitter.emit("stored", { partitionId, offset }),
      onError: (partitionId, error) => this.#emitter.emit("error", { error, partitionId }),
    });
  }

  // Group

  #makeMembership(): Membership {
    const { streamId, topicId, consumer, createGroup } = this.#settings;
    return new Membership({
      streamId,
      topicId,
      name: consumer.id,
      createGroup,
      groups: this.#parts.groups,
      onAssignment: ({ partitions }) => this.#takeAssignment(partitions),
      onRejoined: () => {
        for (const partition of this.partitions) {
          this.#scheduler.remove(partition);
          this.#forget(partition);
        }
        this.#emitter.emit("rejoined", {});
      },
      onError: (error) => {
        if (error instanceof ClientShutdownError) {
          this.#faults.push(error);
          this.#wake();
        } else this.#emitter.emit("error", { error });
      },
    });
  }

  async #takeAssignment(partitions: readonly number[]): Promise<void> {
    const revoked = this.partitions.filter((partition) => !partitions.includes(partition));
    for (const partition of revoked) this.#scheduler.remove(partition);
    // The server takes positions of a partition until its handover is done.
    for (const partition of revoked) await this.#committer?.flush(partition);
    for (const partition of revoked) this.#forget(partition);
    if (revoked.length > 0) this.#emitter.emit("revoked", { partitions: revoked });
    const assigned = partitions.filter((partition) => !this.#scheduler.has(partition));
    await this.#addPartitions(assigned);
    if (assigned.length > 0) this.#emitter.emit("assigned", { partitions: assigned });
  }

  // The end

  async #close(graceful: boolean): Promise<void> {
    const drain = AbortSignal.timeout(graceful ? this.#settings.offsetDrainTimeoutMs : 0);
    // What is in hand counts, unless the loop that had it was left.
    this.#countProcessed();
    const { batches, cancelled } = this.#scheduler.close();
    this.#stopped.abort(new ClientShutdownError("the consumer was closed"));
    this.#committer?.stop();
    this.#wake();
    await settled([this.#membership?.stop() ?? Promise.resolve(), this.#initialized ?? Promise.resolve()], drain);
    if (graceful) {
      await this.#committer?.flush(undefined, drain);
      if (this.#offsets.commitsOnRead) await this.#rewind(this.#undelivered(batches, cancelled), drain);
      await this.#leave(drain);
    }
    this.#parts.onClose(this);
  }

  /** Where the reading of each partition goes on for whoever comes next. */
  #undelivered(
    batches: ReturnType<ReadScheduler["close"]>["batches"],
    cancelled: readonly number[],
  ): readonly Checkpoint[] {
    const known = this.#delivery.undelivered(batches);
    const behind = cancelled.flatMap((partition) => this.#delivery.behindDelivered(partition) ?? []);
    return [...known, ...behind.filter(({ partitionId }) => known.every((other) => other.partitionId !== partitionId))];
  }

  async #rewind(undelivered: readonly Checkpoint[], signal: AbortSignal): Promise<void> {
    for (const checkpoint of undelivered) {
      try {
        await this.#offsets.rewind(checkpoint, signal);
      } catch (error) {
        this.#emitter.emit("error", { error, partitionId: checkpoint.partitionId });
      }
    }
  }

  async #leave(signal: AbortSignal): Promise<void> {
    if (this.#membership === undefined) return;
    try {
      await this.#membership.leave(signal);
      this.#emitter.emit("left", {});
    } catch (error) {
      // The membership ends with the session at the latest.
      this.#emitter.emit("error", { error });
    }
  }

  #wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  async #news(signal: AbortSignal | undefined): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#wakers.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.#wakers.add(done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }
}

const nextAfter = (polled: PolledMessages): PollingStrategy =>
  PollingStrategy.continuing(PollingStrategy.Next, { partitionId: polled.partitionId, context: polled.context });

const firstIsZero = (strategy: PollingStrategy): PollingStrategy =>
  strategy.kind === "first" ? PollingStrategy.Offset(0n) : strategy;

const isMissing = (error: unknown): boolean =>
  [
    ErrorCode.StreamIdNotFound,
    ErrorCode.StreamNameNotFound,
    ErrorCode.TopicIdNotFound,
    ErrorCode.TopicNameNotFound,
  ].some((code) => IggyError.is(error, code));

/** Waits until promises settle, or until `signal` says that it took too long. */
async function settled(promises: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    void Promise.allSettled(promises).then(done);
  });
}
