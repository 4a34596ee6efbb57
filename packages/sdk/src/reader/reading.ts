import { ErrorCode, FETCH_SECTION_SIZE, MIN_READ_MAX_BYTES } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { FetchCalls } from "../api/fetches.js";
import type { GroupApi } from "../api/groups.js";
import type { OffsetApi } from "../api/offsets.js";
import type { OperationApi } from "../api/operations.js";
import type { PollCalls } from "../api/polls.js";
import { topicTarget } from "../api/topics.js";
import { ClientShutdownError, IggyError, ReadError, ValidationError } from "../errors/index.js";
import { TypedEmitter } from "../events/typed-emitter.js";
import type { TopicName } from "../routing/spelling.js";
import { type U64Like, u32, u64 } from "../values/check.js";
import { toConsumer } from "../values/consumer.js";
import { CommitPolicy, type ReadLimits } from "../values/poll-options.js";
import { checkStrategy, PollingStrategy } from "../values/polling-strategy.js";
import { Checkpoint } from "../values/position.js";
import { decrypted } from "./decrypting.js";
import type { PartitionFigures } from "./figures.js";
import { GapWatch } from "./gap-watch.js";
import { inParallel } from "./in-parallel.js";
import { Membership } from "./membership.js";
import { OffsetCommitter } from "./offset-committer.js";
import type { Batch, PartitionRead } from "./partition-read.js";
import { FaultPolicy } from "./read-faults.js";
import {
  type FaultVerdict,
  ReadScheduler,
  type ReadTarget,
  type Remainder,
  type RequestLimits,
  settledBy,
} from "./read-scheduler.js";
import type { ReadSettings } from "./read-settings.js";
import type { ConsumerEvents } from "./reading-events.js";
import { StoredOffsets } from "./stored-offsets.js";

/** What reading needs of its client. */
export interface ReadingParts {
  readonly polls: PollCalls;
  readonly fetches: FetchCalls;
  readonly offsets: OffsetApi;
  readonly groups: GroupApi;
  readonly operations: OperationApi;
  /** Tells when the server lost the session, until the result is called. */
  readonly onSessionReset: (listener: () => void) => () => void;
}

/** How far the messages of a partition are handled. */
interface Progress {
  /** The first one that is not. */
  readonly next: bigint;
  readonly last: bigint | undefined;
}

export interface ReadingHooks {
  /** Whether an error that the reading tries again ends the next call of its owner all the same. */
  readonly isThrown: (error: IggyError, kind: "passing" | "lasting" | "final") => boolean;
  /** A partition is no longer read here, or starts over elsewhere. */
  readonly onForget: (partitionId: number) => void;
}

/** Bytes of a grouped reply before its sections. */
const FETCH_TABLE_HEADER = 4;
/** Offset reads under way at a time when partitions are taken. */
const maxLookups = 16;

/**
 * Reads partitions for a reader or a consumer: takes them as the group says, fetches ahead within the budget, retries,
 * counts and stores positions. What is read comes out in batches, each of one partition, in order.
 */
export class Reading {
  readonly settings: ReadSettings;
  readonly events: TypedEmitter<ConsumerEvents> = new TypedEmitter((name, error) => {
    // An error listener that throws has nobody left to tell.
    if (name !== "error") this.events.emit("error", { error });
  });
  readonly #parts: ReadingParts;
  readonly #hooks: ReadingHooks;
  readonly #topic: TopicName;
  readonly #scheduler: ReadScheduler;
  readonly #offsets: StoredOffsets;
  readonly #faultPolicy: FaultPolicy;
  readonly #gaps: GapWatch;
  readonly #membership: Membership | undefined;
  readonly #stopped = new AbortController();
  readonly #offSessionReset: () => void;
  /** The last message of each partition that was handed over. */
  readonly #delivered = new Map<number, Checkpoint>();
  /** The same of partitions that belong to others now: a late commit is the server's to refuse. */
  readonly #former = new Map<number, Checkpoint>();
  /** The last batch of each partition that was taken: when its first message came, and where it ends. */
  readonly #taken = new Map<number, { readonly micros: bigint; readonly last: bigint }>();
  /** Errors for the next read to throw, the latest of each partition. */
  readonly #faults = new Map<number | undefined, IggyError>();
  readonly #wakers = new Set<() => void>();
  #committer: OffsetCommitter | undefined;

  constructor(settings: ReadSettings, parts: ReadingParts, hooks: ReadingHooks) {
    this.settings = settings;
    this.#parts = parts;
    this.#hooks = hooks;
    this.#topic = topicTarget(settings.streamId, settings.topicId);
    this.#offsets = new StoredOffsets(settings, parts.offsets, (partitionId) => this.#lastKnown(partitionId), this);
    this.#faultPolicy = this.#makeFaultPolicy();
    this.#scheduler = this.#makeScheduler();
    this.#gaps = new GapWatch({
      stored: (partitionId) => this.#storedOffset(partitionId),
      onGap: (partitionId, from, to) => this.events.emit("gap", { partitionId, from, to }),
    });
    this.#committer = this.#makeCommitter(settings.limits.commit);
    this.#membership = settings.partitions === undefined ? this.#makeMembership() : undefined;
    this.#offSessionReset = parts.onSessionReset(() => void this.#membership?.refresh());
  }

  /** The partitions that are read now. */
  get partitions(): readonly number[] {
    return this.#scheduler.partitions;
  }

  /** Aborts when reading ends. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  get commitsOnRead(): boolean {
    return this.#offsets.commitsOnRead;
  }

  lastDelivered(partitionId: number): Checkpoint | undefined {
    return this.#delivered.get(partitionId);
  }

  lastStored(partitionId: number): bigint | undefined {
    return this.#offsets.lastStored(partitionId);
  }

  /** Takes the partitions, or joins the group and takes what it gives. */
  async start(): Promise<void> {
    const { partitions } = this.settings;
    if (this.#membership === undefined) {
      this.#add(partitions ?? [], this.settings.start);
      return;
    }
    await this.#membership.start();
    this.events.emit("joined", {});
  }

  // What was read

  take(): Batch | undefined {
    const batch = this.#scheduler.take();
    if (batch === undefined) return undefined;
    this.#faultPolicy.clear(batch.partitionId);
    this.#gaps.see(batch.polled);
    const first = batch.polled.messages[0];
    const last = batch.polled.checkpoint;
    if (first !== undefined && last !== null) {
      this.#taken.set(batch.partitionId, { micros: first.timestampMicros, last: last.offset });
    }
    return batch;
  }

  /** An error that the next read has to throw. */
  takeFault(): IggyError | undefined {
    for (const [partitionId, error] of this.#faults) {
      this.#faults.delete(partitionId);
      return error;
    }
    return undefined;
  }

  /** A message was handed over, and with it those before it. */
  noteDelivered(checkpoint: Checkpoint): void {
    this.#delivered.set(checkpoint.partitionId, checkpoint);
  }

  /** Resolves when there may be something to read, or an error, or the end. */
  news(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#wakers.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.#wakers.add(done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }

  wake(): void {
    for (const wake of [...this.#wakers]) wake();
  }

  // Positions

  async commit(checkpoint: Checkpoint, options?: CallOptions): Promise<void> {
    await this.#offsets.commit(checkpoint, options);
  }

  mark(checkpoint: Checkpoint): void {
    if (this.#committer === undefined) {
      throw new ValidationError(ErrorCode.InvalidCommand, "mark needs the commit policy CommitPolicy.Auto");
    }
    if (this.#offsets.delivered(checkpoint) !== undefined) this.#committer.count(checkpoint);
  }

  /** A message counts as consumed; `messages` of its partition since the last count. */
  count(checkpoint: Checkpoint, messages = 1): void {
    this.#committer?.count(checkpoint, messages);
  }

  /** Stores what is counted, now. */
  async flush(partitionId?: number, signal?: AbortSignal): Promise<void> {
    await this.#committer?.flush(partitionId, signal);
  }

  /** Counts and stores as `policy` says from now on, where the settings leave that to the owner. */
  commitBy(policy: CommitPolicy): void {
    this.#committer ??= this.#makeCommitter(policy);
  }

  async seek(partitionId: number, strategy: PollingStrategy): Promise<void> {
    checkStrategy(strategy, u32("partitionId", partitionId));
    if (this.#offsets.commitsOnRead) await this.#offsets.storeBefore(partitionId, strategy);
    this.#forget(partitionId);
    this.#faults.delete(partitionId);
    const start = strategy.kind === "first" ? PollingStrategy.Offset(0n) : strategy;
    this.#gaps.start(partitionId, start);
    this.#scheduler.seek(partitionId, start);
  }

  /** Stores an offset as it is, under the history of the last message that came from the partition. */
  async storeOffset(partitionId: number, offset: U64Like, options?: CallOptions): Promise<void> {
    const value = u64("offset", offset);
    await this.#offsets.store(partitionId, value, this.#lastKnown(partitionId)?.context, options);
    if (!this.#offsets.commitsOnRead) return;
    // Where the server stores what it reads, the stored offset is the position.
    this.#forget(partitionId);
    this.#scheduler.seek(partitionId, PollingStrategy.Next);
  }

  async deleteOffset(partitionId: number, options?: CallOptions): Promise<void> {
    await this.#offsets.delete(partitionId, this.#lastKnown(partitionId)?.context, options);
  }

  setPaused(partitions: readonly number[], isPaused: boolean): void {
    for (const partition of partitions) this.#scheduler.setPaused(partition, isPaused);
    if (!isPaused) this.wake();
  }

  /** Takes nothing of a partition until those who handle its messages have caught up. */
  setHeld(partitionId: number, isHeld: boolean): void {
    this.#scheduler.setHeld(partitionId, isHeld);
    if (!isHeld) this.wake();
  }

  /** Whether messages of a partition may be handed over now. */
  isWelcome(partitionId: number): boolean {
    return this.#scheduler.find(partitionId)?.isWelcome ?? true;
  }

  /** A message that was handed over was not used: it comes again, with what follows it. */
  takeBack(message: Checkpoint): void {
    const { partitionId } = message;
    const last = this.#delivered.get(partitionId);
    if (last === undefined || this.#offsets.commitsOnRead) return;
    this.#delivered.delete(partitionId);
    this.#former.set(partitionId, last);
    this.#hooks.onForget(partitionId);
    this.#scheduler.giveBack(message);
  }

  /** Reads a message that was taken and not handed over, and what follows it, again. */
  giveBackFrom(next: Checkpoint): void {
    this.#scheduler.giveBack(next);
  }

  /** `done`: how far the messages are handled, where that is not how far they were handed over. */
  figures(partitionId: number, done?: Progress): PartitionFigures | undefined {
    const partition = this.#scheduler.find(partitionId);
    if (partition === undefined) return undefined;
    const { end, answeredAt } = partition;
    const next = done?.next ?? this.#nextOffset(partition);
    const lag = end === undefined || next === undefined ? undefined : end > next ? end - next : 0n;
    return {
      partitionId,
      state: partition.isStopped ? "stopped" : partition.isPaused ? "paused" : "reading",
      lastOffset: done === undefined ? this.#delivered.get(partitionId)?.offset : done.last,
      end,
      lagMessages: lag,
      lagMs: lag === undefined || next === undefined ? undefined : lag === 0n ? 0 : this.#ageMs(partitionId, next),
      answeredAt: answeredAt === undefined ? undefined : new Date(answeredAt),
    };
  }

  /**
   * Ends reading: takes what is under way, stores what is counted, gives back what the server stored and nobody got,
   * leaves the group. `undelivered` tells the first message of each partition that was not handed over.
   */
  async close(
    graceful: boolean,
    drain: AbortSignal,
    undelivered: (batches: readonly Batch[]) => readonly Checkpoint[],
    started: Promise<void> | undefined,
  ): Promise<void> {
    this.#offSessionReset();
    this.#stopped.abort(new ClientShutdownError("reading was closed"));
    this.wake();
    this.#committer?.stop();
    const remainder = await this.#scheduler.close(graceful ? drain : AbortSignal.abort());
    await settledBy([this.#membership?.stop() ?? Promise.resolve(), started ?? Promise.resolve()], drain);
    if (!graceful) return;
    await this.#committer?.flush(undefined, drain);
    if (this.#offsets.commitsOnRead) await this.#giveBack(remainder, undelivered(remainder.batches), drain);
    await this.#leave(drain);
  }

  // Partitions

  async #storedOffset(partitionId: number): Promise<bigint | undefined> {
    if (this.#offsets.commitsOnRead) return undefined;
    try {
      return await this.#offsets.find(partitionId, this.#lookupSignal());
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.events.emit("error", { error, partitionId });
      return undefined;
    }
  }

  /** One of its own for each of many lookups: each listens to its signal. */
  #lookupSignal(): AbortSignal {
    return AbortSignal.any([this.#stopped.signal]);
  }

  #add(partitions: readonly number[], start: PollingStrategy): void {
    for (const partition of partitions) this.#gaps.start(partition, start);
    this.#scheduler.add(partitions.map((partition) => [partition, start]));
  }

  /** A group goes on from its stored offset; the configured start is for a partition that has none. */
  async #addAssigned(partitions: readonly number[]): Promise<void> {
    const { start } = this.settings;
    if (start.kind === "next") {
      this.#add(partitions, start);
      return;
    }
    await inParallel(partitions, maxLookups, async (partition) => {
      const stored = await this.#offsets.find(partition, this.#lookupSignal());
      this.#add([partition], stored === undefined ? start : PollingStrategy.Next);
    });
  }

  async #takeAssignment(partitions: readonly number[]): Promise<void> {
    const wanted = new Set(partitions);
    const revoked = this.partitions.filter((partition) => !wanted.has(partition));
    for (const partition of revoked) this.#scheduler.remove(partition);
    // The server takes positions of a partition until its handover is done.
    await Promise.all(revoked.map((partition) => this.flush(partition)));
    for (const partition of revoked) this.#disown(partition);
    if (revoked.length > 0) this.events.emit("revoked", { partitions: revoked });
    const assigned = partitions.filter((partition) => this.#scheduler.find(partition) === undefined);
    await this.#addAssigned(assigned);
    if (assigned.length > 0) this.events.emit("assigned", { partitions: assigned });
  }

  #disown(partitionId: number): void {
    const last = this.#delivered.get(partitionId);
    this.#forget(partitionId);
    this.#gaps.forget(partitionId);
    this.#faults.delete(partitionId);
    if (last !== undefined) this.#former.set(partitionId, last);
  }

  #forget(partitionId: number): void {
    this.#delivered.delete(partitionId);
    this.#former.delete(partitionId);
    this.#taken.delete(partitionId);
    this.#committer?.forget(partitionId);
    this.#offsets.forget(partitionId);
    this.#faultPolicy.clear(partitionId);
    this.#hooks.onForget(partitionId);
  }

  #lastKnown(partitionId: number): Checkpoint | undefined {
    return this.#delivered.get(partitionId) ?? this.#former.get(partitionId);
  }

  /** The offset of the next message to be handed over; what retention took away in between does not count. */
  #nextOffset(partition: PartitionRead): bigint | undefined {
    const delivered = this.#delivered.get(partition.id);
    if (delivered !== undefined) return delivered.offset + 1n;
    const buffered = this.#scheduler.buffered(partition.id)?.polled.messages[0]?.offset;
    return buffered ?? partition.reached;
  }

  #ageMs(partitionId: number, next: bigint): number | undefined {
    const taken = this.#taken.get(partitionId);
    const buffered = this.#scheduler.buffered(partitionId)?.polled.messages[0];
    const isTaken = taken !== undefined && next <= taken.last;
    const micros = isTaken ? taken.micros : (buffered?.timestampMicros ?? taken?.micros);
    return micros === undefined ? undefined : Math.max(0, Date.now() - Number(micros / 1000n));
  }

  // Reading

  #makeScheduler(): ReadScheduler {
    const { slots, limits, retryIntervalMs, encryptor } = this.settings;
    return new ReadScheduler(
      {
        slots,
        count: limits.count,
        maxWaitMs: limits.maxWaitMs,
        retryIntervalMs,
        commitsOnRead: limits.commit.kind === "on-read",
      },
      {
        fetch: (targets, request, signal) => this.#fetch(targets, request, signal),
        poll: (target, request, signal) => this.#poll(target, request, signal),
        knownPrimary: (partitionId) => this.#parts.fetches.knownPrimary(this.#topic, partitionId),
        primary: (partitionId, signal) => this.#parts.fetches.primary(this.#topic, partitionId, { signal }),
        open: encryptor === undefined ? undefined : (polled) => decrypted(encryptor, polled),
        onBatch: () => this.wake(),
        onFault: (targets, error) => this.#onFault(targets, error),
      },
    );
  }

  async #fetch(targets: readonly ReadTarget[], request: RequestLimits, signal: AbortSignal) {
    const { streamId, topicId, consumer, limits } = this.settings;
    // The table of the reply comes out of the same budget.
    const table = FETCH_TABLE_HEADER + FETCH_SECTION_SIZE * targets.length;
    const maxBytes = Math.max(MIN_READ_MAX_BYTES, limits.maxBytes - table);
    const { sections } = await this.#parts.fetches.fetch(
      {
        topic: this.#topic,
        consumer: toConsumer(consumer),
        targets: targets.map(({ partitionId, position }) => ({
          partitionId,
          strategy: position,
          maxBytes: limits.maxBytes,
          context: undefined,
        })),
        limits: { ...requestLimits(limits, request), maxBytes },
        about: { streamId, topicId },
        awaitsOutcome: true,
      },
      { signal },
    );
    return sections;
  }

  #poll({ partitionId, position }: ReadTarget, request: RequestLimits, signal: AbortSignal) {
    const { streamId, topicId, consumer, limits } = this.settings;
    return this.#parts.polls.poll(
      {
        consumer: toConsumer(consumer),
        partition: { ...this.#topic, partitionId },
        strategy: position,
        limits: requestLimits(limits, request),
        about: { streamId, topicId, partitionId },
        owner: this,
        awaitsOutcome: true,
      },
      { signal },
    );
  }

  #onFault(targets: readonly ReadTarget[], error: unknown): readonly FaultVerdict[] {
    if (IggyError.is(error, ErrorCode.ConsumerGroupPartitionNotOwned)) {
      // Another member may be waiting until what was served here is committed.
      for (const { partitionId } of targets) this.#committer?.hurry(partitionId);
    }
    return this.#faultPolicy.decide(targets, error);
  }

  #makeFaultPolicy(): FaultPolicy {
    return new FaultPolicy({
      retryIntervalMs: this.settings.retryIntervalMs,
      commitsOnRead: this.#offsets.commitsOnRead,
      lastDelivered: (partitionId) => this.#delivered.get(partitionId),
      report: (error, lasts) => this.#tell(error, lasts ? "lasting" : "passing"),
      surface: (error) => this.#tell(error, "final"),
      onAssignmentOld: () => void this.#membership?.refresh(),
      abandon: (operationId) => {
        this.#parts.operations.abandon({ operationId }).catch((error: unknown) => this.events.emit("error", { error }));
      },
    });
  }

  #tell(error: ReadError | ClientShutdownError, kind: "passing" | "lasting" | "final"): void {
    if (this.#stopped.signal.aborted) return;
    const partitionId = error instanceof ReadError ? error.partitionId : undefined;
    if (this.#hooks.isThrown(error, kind)) {
      this.#faults.set(partitionId, error);
      this.wake();
    } else this.events.emit("error", partitionId === undefined ? { error } : { error, partitionId });
  }

  // Storing and membership

  #makeCommitter(commit: CommitPolicy): OffsetCommitter | undefined {
    if (commit.kind !== "auto") return undefined;
    return new OffsetCommitter({
      intervalMs: commit.intervalMs,
      everyMessages: commit.everyMessages,
      store: (partitionId, offset, context, signal) =>
        this.#offsets.store(partitionId, offset, context, signal === undefined ? {} : { signal }),
      onStored: (partitionId, offset) => this.events.emit("stored", { partitionId, offset }),
      onError: (partitionId, error) => this.events.emit("error", { error, partitionId }),
    });
  }

  #makeMembership(): Membership {
    const { streamId, topicId, consumer, createGroup } = this.settings;
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
          this.#disown(partition);
        }
        this.events.emit("rejoined", {});
      },
      onError: (error) => {
        if (error instanceof ClientShutdownError) this.#tell(error, "final");
        else this.events.emit("error", { error });
      },
    });
  }

  // The end

  /** Where the reading of each partition goes on for whoever comes next. */
  async #giveBack({ unknown }: Remainder, undelivered: readonly Checkpoint[], signal: AbortSignal): Promise<void> {
    const first = new Map(undelivered.map((checkpoint) => [checkpoint.partitionId, checkpoint]));
    for (const partition of unknown) {
      const last = this.#delivered.get(partition);
      if (first.has(partition) || last === undefined) continue;
      first.set(partition, new Checkpoint(partition, last.offset + 1n, last.context));
    }
    for (const checkpoint of first.values()) {
      try {
        await this.#offsets.rewind(checkpoint, signal);
      } catch (error) {
        this.events.emit("error", { error, partitionId: checkpoint.partitionId });
      }
    }
  }

  async #leave(signal: AbortSignal): Promise<void> {
    if (this.#membership === undefined) return;
    try {
      if (await this.#membership.leave(signal)) this.events.emit("left", {});
    } catch (error) {
      // The membership ends with the session at the latest.
      this.events.emit("error", { error });
    }
  }
}

function requestLimits(limits: ReadLimits, { count, maxWaitMs, commits }: RequestLimits): ReadLimits {
  return {
    count,
    minCount: Math.min(limits.minCount, count),
    maxWaitMs,
    maxBytes: limits.maxBytes,
    commit: commits ? CommitPolicy.OnRead : CommitPolicy.Manual,
  };
}
