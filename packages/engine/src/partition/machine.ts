import { ErrorCode, Operation } from "@iggy/protocol";
import { type BatchFacts, readBatchFacts } from "./batch-facts.js";
import { type PartitionState, decodePartitionState, encodePartitionState } from "./checkpoint.js";
import { GroupOwners, type InstalledOwner } from "./group-owners.js";
import { ConsumerOffsets, type OffsetChange, type OffsetKey } from "./offsets.js";
import { decodeOffsetWrite, decodeOwner, decodeGroupRetirement, decodeSessionRetirement } from "./operations.js";
import { commitOnReadClient, CorruptHistoryError, isClientPrepare, type PartitionPrepare } from "./prepare.js";
import { ProducerTable, type WrittenBatch } from "./producers.js";
import { type Receipt, WriterTable } from "./writers.js";

export interface PartitionFacts {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitionId: number;
  /** Metadata revision that created the partition. */
  readonly incarnation: number;
}

export interface MachineLimits {
  /** Writers with retry protection that this node nominates; the first committed prepare fixes the number. */
  readonly retryCapacity: number;
  /** Offset keys per kind. */
  readonly consumerOffsetsMax: number;
}

/** Who asks, as retries and owners are told apart. */
export interface Caller {
  readonly client: bigint;
  readonly session: number;
}

export interface CallerRequest extends Caller {
  readonly request: number;
}

/** What to do with a write. */
export type Admission =
  | { readonly kind: "accept" }
  /** Applied before under the same request number: answer the first result. */
  | { readonly kind: "replay"; readonly receipt: Receipt }
  /** Ordered and not committed: the commit answers. */
  | { readonly kind: "pending" }
  /** An idempotent producer resends a batch under a new request number: answer where it was written. */
  | { readonly kind: "duplicate"; readonly batch: WrittenBatch }
  | { readonly kind: "refuse"; readonly code: number };

/** What a committed operation did. */
export interface Applied {
  /** 0, or the code of a committed rejection. */
  readonly code: number;
  /** First offset of a send, else -1. */
  readonly baseOffset: number;
  /** Messages that became visible. */
  readonly messagesCount: number;
  readonly offsetChanges: readonly OffsetChange[];
  /** Group whose owner changed. */
  readonly installedGroup: number | undefined;
  /** Group whose owner has now committed everything that it was served. */
  readonly drainedGroup: number | undefined;
}

/** A read that wants to store the offset of its last message. */
export interface CommitOnRead {
  readonly key: OffsetKey;
  readonly lastOffset: number;
  /** Set when the read started behind the stored offset: what was stored then. */
  readonly startedBehind?: { readonly offset: number | undefined } | undefined;
}

export type CommitOnReadDecision = "store" | "unchanged" | { readonly code: number };

const accept: Admission = { kind: "accept" };
const refuse = (code: number): Admission => ({ kind: "refuse", code });
const noChanges: readonly OffsetChange[] = [];

/**
 * The state of one partition incarnation, as a function of its log: which offsets are taken, who wrote what (so that a
 * resend is recognised), what consumers stored, who owns a group here. It decides about requests before they are ordered
 * and applies what committed; it holds no messages, clock or file.
 */
export class PartitionMachine {
  readonly facts: PartitionFacts;
  readonly offsets = new ConsumerOffsets();
  readonly owners = new GroupOwners();
  private readonly limits: MachineLimits;
  private readonly producers = new ProducerTable();
  private readonly writers = new WriterTable();
  private applied = 0;
  private appliedChecksum = 0n;
  private appliedTimestampMicros = 0;
  private committedNext = 0;
  private assignedNext = 0;
  private reservedNext = 0;
  /** Committed limit of writers; 0 before the first commit. */
  private retryCapacity = 0;
  private endedAt = 0;
  private paidThrough = 0;
  private largestBatch = 0;

  constructor(facts: PartitionFacts, limits: MachineLimits) {
    this.facts = facts;
    this.limits = limits;
  }

  /** Last applied operation. */
  get appliedOp(): number {
    return this.applied;
  }

  /** Identity checksum of the last applied operation, 0 before the first. */
  get checksum(): bigint {
    return this.appliedChecksum;
  }

  get timestampMicros(): number {
    return this.appliedTimestampMicros;
  }

  /** One past the last committed message. */
  get nextOffset(): number {
    return this.committedNext;
  }

  /** Offset of the last committed message, 0 also for an empty partition. */
  get currentOffset(): number {
    return Math.max(0, this.committedNext - 1);
  }

  /** Offset that the next ordered batch gets. */
  get assignableOffset(): number {
    return this.assignedNext;
  }

  /** Bytes of the largest batch that ever committed here: what the reading of one message may take. */
  get largestBatchBytes(): number {
    return this.largestBatch;
  }

  /** The history is over: metadata deletes this incarnation. */
  get isEnded(): boolean {
    return this.endedAt !== 0;
  }

  // Fences. Each gives 0 or the code that refuses.

  historyFence(incarnation: number): number {
    return this.isEnded || incarnation !== this.facts.incarnation ? ErrorCode.HistoryUnavailable : 0;
  }

  /** Owner fence of a read or an offset write; only groups have owners. */
  ownerFence(key: OffsetKey, caller: Caller, ownerGeneration: number): number {
    const isAllowed =
      key.kind === "consumer_group"
        ? this.owners.isOwner(key.id, caller.client, caller.session, ownerGeneration)
        : ownerGeneration === 0;
    return isAllowed ? 0 : ErrorCode.ConsumerGroupPartitionNotOwned;
  }

  // Admission on the primary, before an operation is ordered.

  /**
   * `partitionNamed`: the client itself chose the partition, as a producer that counts its messages must.
   * `timestampMicros` is the time that the prepare would carry.
   */
  admitSend(request: CallerRequest, batch: BatchFacts, partitionNamed: boolean, timestampMicros: number): Admission {
    const seen = this.admitRequest(request);
    if (seen !== undefined) return seen;
    if (batch.producer === undefined) return accept;
    if (!partitionNamed) return refuse(ErrorCode.ProducerPartitionRequired);
    return this.producers.check(batch.producer, timestampMicros);
  }

  admitStore(request: CallerRequest, key: OffsetKey, offset: number): Admission {
    const seen = this.admitRequest(request);
    if (seen !== undefined) return seen;
    if (key.kind !== "external_group" && offset >= this.committedNext) return refuse(ErrorCode.InvalidOffset);
    return this.isOffsetTableFull(key) ? refuse(ErrorCode.TooManyConsumerOffsets) : accept;
  }

  admitDelete(request: CallerRequest, key: OffsetKey): Admission {
    const seen = this.admitRequest(request);
    if (seen !== undefined) return seen;
    return this.offsets.tail(key) === undefined ? refuse(ErrorCode.ConsumerOffsetNotFound) : accept;
  }

  /**
   * Whether a read may store the offset of its last message. The stored offset only moves forward, and a read that
   * started behind it stores nothing once it has moved, so a later read fences out an earlier one.
   */
  admitCommitOnRead({ key, lastOffset, startedBehind }: CommitOnRead): CommitOnReadDecision {
    const tail = this.offsets.tail(key);
    if (startedBehind !== undefined && tail !== startedBehind.offset) return { code: ErrorCode.TransientNotAccepted };
    if (tail !== undefined && tail >= lastOffset) return "unchanged";
    return this.isOffsetTableFull(key) ? { code: ErrorCode.TooManyConsumerOffsets } : "store";
  }

  private admitRequest({ client, session, request }: CallerRequest): Admission | undefined {
    const capacity = this.retryCapacity === 0 ? this.limits.retryCapacity : this.retryCapacity;
    const decision = this.writers.check(client, session, request, capacity);
    return decision.kind === "new" ? undefined : decision;
  }

  private isOffsetTableFull(key: OffsetKey): boolean {
    return !this.offsets.has(key) && this.offsets.count(key.kind) >= this.limits.consumerOffsetsMax;
  }

  // What the primary ordered. Each follows its admission and a journaled prepare.

  orderedSend(request: CallerRequest, batch: BatchFacts): void {
    this.writers.ordered(request.client, request.session, request.request);
    if (batch.producer !== undefined) this.producers.ordered(batch.producer);
    this.assignedNext += batch.messagesCount;
  }

  /** `early` shows the value to reads before it commits. */
  orderedOffset(request: CallerRequest, key: OffsetKey, offset: number | undefined, early: boolean): void {
    if (isClientPrepare(request)) this.writers.ordered(request.client, request.session, request.request);
    this.offsets.ordered(key, offset, early);
  }

  /** Ordered operations were given up, as a view change does. */
  dropOrdered(): void {
    this.writers.dropPending();
    this.producers.dropPending();
    this.offsets.dropPending();
    this.assignedNext = Math.max(this.committedNext, this.reservedNext);
  }

  // Apply.

  /** Applies the next committed operation. */
  commit(prepare: PartitionPrepare): Applied {
    if (prepare.op !== this.applied + 1) {
      throw new CorruptHistoryError(`operation ${prepare.op} follows operation ${this.applied}`);
    }
    const applied = this.apply(prepare);
    this.applied = prepare.op;
    this.appliedChecksum = prepare.checksum;
    this.appliedTimestampMicros = prepare.timestampMicros;
    if (this.retryCapacity === 0) this.retryCapacity = prepare.retryCapacity ?? this.limits.retryCapacity;
    if (isClientPrepare(prepare)) {
      this.writers.commit(prepare.client, prepare.session, {
        request: prepare.request,
        requestChecksum: prepare.requestChecksum,
        operation: prepare.operation,
        op: prepare.op,
        view: prepare.view,
        timestampMicros: prepare.timestampMicros,
        code: applied.code,
        baseOffset: applied.baseOffset,
      });
    }
    return applied;
  }

  private apply(prepare: PartitionPrepare): Applied {
    switch (prepare.operation) {
      case Operation.SendMessages:
        return this.applySend(prepare);
      case Operation.StoreConsumerOffset:
      case Operation.DeleteConsumerOffset:
        return this.applyOffset(prepare);
      case Operation.RetireSession:
        return this.applyRetireSessions(prepare.body);
      case Operation.InstallConsumerGroupOwner:
        return this.applyOwner(prepare.body);
      case Operation.TransitionPartitionHistory:
        this.endedAt = prepare.op;
        return done();
      case Operation.RetireConsumerGroupOwners:
        return this.applyRetireGroups(prepare.body);
      default:
        throw new CorruptHistoryError(`operation ${prepare.op} has the unknown code ${prepare.operation}`);
    }
  }

  private applySend(prepare: PartitionPrepare): Applied {
    const batch = readBatchFacts(prepare.body);
    // A crash can leave numbers behind that were reserved and never written, so a batch may start above the end.
    if (batch.baseOffset < this.committedNext) {
      throw new CorruptHistoryError(
        `operation ${prepare.op} starts at offset ${batch.baseOffset}, below the end ${this.committedNext}`,
      );
    }
    this.committedNext = batch.baseOffset + batch.messagesCount;
    this.largestBatch = Math.max(this.largestBatch, batch.sizeBytes);
    this.assignedNext = Math.max(this.assignedNext, this.committedNext);
    if (batch.producer !== undefined) {
      const { sequence, messagesCount } = batch.producer;
      const written = { sequence, messagesCount, baseOffset: batch.baseOffset, op: prepare.op };
      this.producers.commit(batch.producer, written, prepare.timestampMicros);
    }
    return {
      code: 0,
      baseOffset: batch.baseOffset,
      messagesCount: batch.messagesCount,
      offsetChanges: noChanges,
      installedGroup: undefined,
      drainedGroup: undefined,
    };
  }

  private applyOffset(prepare: PartitionPrepare): Applied {
    const { key, offset, ownerGeneration } = decodeOffsetWrite(prepare.operation, prepare.body);
    const applied = this.writeOffset(prepare, key, offset, ownerGeneration);
    this.offsets.settled(key);
    return applied;
  }

  private writeOffset(
    prepare: PartitionPrepare,
    key: OffsetKey,
    offset: number | undefined,
    ownerGeneration: number,
  ): Applied {
    const isGroup = key.kind === "consumer_group";
    if (isGroup && this.owners.owner(key.id)?.generation !== ownerGeneration) {
      return done(ErrorCode.ConsumerGroupPartitionNotOwned);
    }
    if (key.kind !== "consumer" && this.owners.isRetired(key.id)) return done(ErrorCode.ConsumerGroupIdNotFound);
    const stored = this.offsets.committed(key);
    if (offset === undefined && stored === undefined) return done(ErrorCode.ConsumerOffsetNotFound);
    if (prepare.client === commitOnReadClient && stored !== undefined && offset !== undefined && offset <= stored) {
      return done();
    }
    const wasInFlight = isGroup && this.owners.isInFlight(key.id, stored);
    this.offsets.set(key, offset);
    const isDrained = wasInFlight && !this.owners.isInFlight(key.id, offset);
    return done(0, [{ kind: key.kind, id: key.id, offset }], undefined, isDrained ? key.id : undefined);
  }

  private applyRetireSessions(body: Uint8Array): Applied {
    const { sessions, paidThrough } = decodeSessionRetirement(body);
    for (const { client, session } of sessions) this.writers.retire(client, session);
    this.paidThrough = Math.max(this.paidThrough, paidThrough);
    return done();
  }

  private applyOwner(body: Uint8Array): Applied {
    const { incarnation, groupId, owner } = decodeOwner(body);
    if (incarnation !== this.facts.incarnation) return done(ErrorCode.HistoryUnavailable);
    return this.owners.install(groupId, owner) ? done(0, noChanges, groupId) : done();
  }

  private applyRetireGroups(body: Uint8Array): Applied {
    const { incarnation, nextGroupId, live } = decodeGroupRetirement(body);
    if (incarnation !== this.facts.incarnation) return done(ErrorCode.HistoryUnavailable);
    this.owners.retire(nextGroupId, live);
    const changes: OffsetChange[] = [];
    for (const kind of ["consumer_group", "external_group"] as const) {
      for (const [id] of this.offsets.entries(kind)) {
        if (this.owners.isRetired(id)) changes.push({ kind, id, offset: undefined });
      }
    }
    for (const change of changes) this.offsets.set(change, undefined);
    return done(0, changes);
  }

  /** Whether the session wrote here, so that its end must go through the log. */
  hasWriter(client: bigint, session: number): boolean {
    return this.writers.has(client, session);
  }

  /** Sessions that hold a place among the writers. */
  *writerSessions(): Iterable<Caller> {
    for (const { client, session } of this.writers.entries()) yield { client, session };
  }

  /** Whether a group with this number owns something here: the partition itself, or stored offsets. */
  hasGroupState(isWanted: (groupId: number) => boolean): boolean {
    return (
      this.owners.hasOwner(isWanted) ||
      this.offsets.hasKey("consumer_group", isWanted) ||
      this.offsets.hasKey("external_group", isWanted)
    );
  }

  // Recovery.

  /** Offsets below this one may have been given to messages that a crash lost: they are not given again. */
  reserveOffsetsBelow(offset: number): void {
    this.reservedNext = Math.max(this.reservedNext, offset);
    this.assignedNext = Math.max(this.assignedNext, this.reservedNext);
  }

  /** Everything that committed operations up to `appliedOp` left behind, as canonical bytes. */
  checkpoint(): Uint8Array {
    const state: PartitionState = {
      op: this.applied,
      checksum: this.appliedChecksum,
      timestampMicros: this.appliedTimestampMicros,
      incarnation: this.facts.incarnation,
      nextOffset: this.committedNext,
      retryCapacity: this.retryCapacity,
      endedAt: this.endedAt,
      paidThrough: this.paidThrough,
      largestBatchBytes: this.largestBatch,
      producers: [...this.producers.entries()],
      writers: [...this.writers.entries()],
      retiredSessions: [...this.writers.retiredEntries()],
      offsets: {
        consumer: this.offsets.entries("consumer"),
        consumer_group: this.offsets.entries("consumer_group"),
        external_group: this.offsets.entries("external_group"),
      },
      owners: this.owners.entries(),
      retiredGroups: this.owners.retirement(),
    };
    return encodePartitionState(state);
  }

  /** Takes the state of a checkpoint. Throws `CorruptHistoryError` for one of another incarnation. */
  restore(bytes: Uint8Array): void {
    const state = decodePartitionState(bytes);
    if (state.incarnation !== this.facts.incarnation) {
      throw new CorruptHistoryError(
        `the checkpoint belongs to incarnation ${state.incarnation}, not to ${this.facts.incarnation}`,
      );
    }
    this.applied = state.op;
    this.appliedChecksum = state.checksum;
    this.appliedTimestampMicros = state.timestampMicros;
    this.committedNext = this.assignedNext = state.nextOffset;
    this.retryCapacity = state.retryCapacity;
    this.endedAt = state.endedAt;
    this.paidThrough = state.paidThrough;
    this.largestBatch = state.largestBatchBytes;
    this.producers.restore(state.producers);
    this.writers.restore(state.writers, state.retiredSessions);
    for (const kind of ["consumer", "consumer_group", "external_group"] as const) {
      for (const [id, offset] of state.offsets[kind]) this.offsets.set({ kind, id }, offset);
    }
    this.owners.restore(state.owners, state.retiredGroups);
  }

  /** Owner that may act for a group here. */
  owner(groupId: number): InstalledOwner | undefined {
    return this.owners.owner(groupId);
  }
}

function done(
  code = 0,
  offsetChanges: readonly OffsetChange[] = noChanges,
  installedGroup?: number,
  drainedGroup?: number,
): Applied {
  return { code, baseOffset: -1, messagesCount: 0, offsetChanges, installedGroup, drainedGroup };
}
