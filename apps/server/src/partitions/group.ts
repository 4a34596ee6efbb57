import type { Prepare, Replica } from "@iggy/consensus";
import {
  type Applied,
  type Caller,
  type CommitOnRead,
  type CorruptHistoryError,
  type OffsetChange,
  type OffsetKey,
  type PartitionMachine,
  SEGMENTS_PER_PASS,
  WatchList,
} from "@iggy/engine";
import { ErrorCode, Operation } from "@iggy/protocol";
import type { PartitionStore, ReadResult } from "@iggy/storage";
import type { ClientRequest } from "../request.js";
import type { PartitionAddress } from "./address.js";
import { Checkpoints } from "./lifecycle/checkpoints.js";
import { ClientWork, type WriteContext } from "./writes/client-work.js";
import type { DeleteOffsetCommand, SendCommand, StoreOffsetCommand } from "./commands.js";
import type { PartitionLog } from "./environment.js";
import { checkIncomingBatch } from "./writes/incoming-batch.js";
import { InstallWaits } from "./reads/install-waits.js";
import { storedKinds } from "./offset-kinds.js";
import { CommitOnReadWork, OffsetWork } from "./writes/offset-works.js";
import { emptyRead } from "./reads/empty-read.js";
import { checkOwner, isInstallPending, type OwnerCheck } from "./reads/owner-check.js";
import type { PartitionCipher } from "./partition-cipher.js";
import type { PartitionStats } from "./plane.js";
import { SendWork } from "./writes/send-work.js";
import { ServerWork } from "./writes/server-work.js";
import type { PartitionShard } from "./shard.js";
import { WritePipeline } from "./writes/write-pipeline.js";

export interface GroupParts {
  readonly address: PartitionAddress;
  readonly machine: PartitionMachine;
  readonly replica: Replica;
  readonly store: PartitionStore;
  readonly shard: PartitionShard;
  readonly log: PartitionLog;
  readonly isDurable: boolean;
  /** Of an encrypted stream. */
  readonly cipher: PartitionCipher | undefined;
  /** Operation that the last checkpoint covers, 0 for none. */
  readonly checkpointOp: number;
}

/** Memory that the search for a time takes: it looks at one piece of a segment at a time. */
const TIME_SEARCH_BYTES = 64 * 1024;

/**
 * One partition on this node: its replica, its state machine and its files behind one door. Everything that happens to
 * the partition happens here, in one thread, in order.
 */
export class PartitionGroup {
  readonly address: PartitionAddress;
  readonly machine: PartitionMachine;
  readonly replica: Replica;
  readonly store: PartitionStore;
  readonly checkpoints: Checkpoints;
  /** Readers that wait for the partition to grow; each is called when it may have what it waits for, or must look again. */
  readonly watches = new WatchList<() => void>();
  readonly installs: InstallWaits;
  readonly log: PartitionLog;
  private readonly shard: PartitionShard;
  private readonly pipeline: WritePipeline;
  private readonly context: WriteContext;
  private readonly cipher: PartitionCipher | undefined;
  /** Bytes committed since the partition was opened. */
  private committedBytes = 0;
  private closedWith = 0;
  private isOutOfSpace = false;
  /** The final fence is ordered: what comes now has to come again when metadata has settled. */
  private isEnding = false;

  constructor(parts: GroupParts) {
    const { address, machine, replica, store, shard, log, isDurable, cipher, checkpointOp } = parts;
    this.address = address;
    this.machine = machine;
    this.replica = replica;
    this.store = store;
    this.shard = shard;
    this.log = log;
    this.cipher = cipher;
    this.checkpoints = new Checkpoints(machine, store, shard, log, checkpointOp);
    this.installs = new InstallWaits(shard);
    this.pipeline = new WritePipeline({
      replica,
      machine,
      store,
      clock: shard.environment.clock,
      isDurable,
      onApplied: (prepare, applied) => {
        this.applied(prepare, applied);
      },
      onSettled: () => {
        this.wake();
        this.checkpoints.takeWhenDue();
      },
      onJournalFull: () => {
        this.checkpoints.takeWhenDue(true);
      },
      onCorrupt: (error) => {
        this.fail(error);
      },
    });
    this.context = {
      machine,
      replica,
      cipher,
      hashing: shard.hashing,
      isSingle: replica.identity.members.length === 1,
      attach: (request) => this.pipeline.attach(request),
    };
  }

  get incarnation(): number {
    return this.machine.facts.incarnation;
  }

  /** It failed or is gone: nothing of it is served any more. */
  get isClosed(): boolean {
    return this.closedWith !== 0;
  }

  get bytesSum(): number {
    return this.committedBytes;
  }

  get stats(): PartitionStats {
    const { messagesCount, sizeBytes, segmentsCount } = this.store.counters;
    return { messagesCount, sizeBytes, segmentsCount, currentOffset: this.machine.currentOffset };
  }

  // Fences.

  /** 0, or why no request of this incarnation is served now. Owners are checked apart. */
  fence(incarnation: number): number {
    const history = this.machine.historyFence(incarnation);
    if (history !== 0) return history;
    if (this.closedWith !== 0) return this.closedWith;
    if (this.shard.isDraining) return ErrorCode.TransientNotAccepted;
    if (!this.replica.isPrimary) return ErrorCode.NotPrimary;
    return this.cipher === undefined ? 0 : this.cipher.refusal;
  }

  private writeFence(incarnation: number): number {
    const code = this.fence(incarnation);
    return code === 0 && this.isEnding ? ErrorCode.LifecycleBusy : code;
  }

  owner(key: OffsetKey, caller: Caller, generation: number): OwnerCheck {
    return checkOwner(this.machine, this.decision(key), key, caller, generation);
  }

  private decision(key: OffsetKey) {
    if (key.kind !== "consumer_group") return undefined;
    return this.shard.environment.catalog.groupOwner(this.address, key.id);
  }

  // Writes.

  send(request: ClientRequest, command: SendCommand): void {
    const code =
      this.writeFence(request.partitionIncarnation) ||
      (request.ownerGeneration === 0 ? 0 : ErrorCode.ConsumerGroupPartitionNotOwned);
    if (code !== 0) {
      request.deny(code);
      return;
    }
    const facts = checkIncomingBatch(this.shard.hashing, command.batch, command.messagesCount);
    if (typeof facts === "number") request.deny(facts);
    else this.pipeline.submit(new SendWork(this.context, request, command.batch, facts, command.partitionNamed));
  }

  storeOffset(request: ClientRequest, command: StoreOffsetCommand): void {
    // A larger number lies behind every end; an external group's offset must still be exact.
    if (command.offset > BigInt(Number.MAX_SAFE_INTEGER)) {
      request.deny(this.writeFence(request.partitionIncarnation) || ErrorCode.InvalidOffset);
    } else this.writeOffset(request, command, Number(command.offset));
  }

  deleteOffset(request: ClientRequest, command: DeleteOffsetCommand): void {
    this.writeOffset(request, command, undefined);
  }

  private writeOffset(request: ClientRequest, command: DeleteOffsetCommand, offset: number | undefined): void {
    const code = this.writeFence(request.partitionIncarnation);
    if (code !== 0) {
      request.deny(code);
      return;
    }
    const { consumer, ack } = command;
    if (isInstallPending(this.machine, this.decision(consumer), consumer, request, request.ownerGeneration)) {
      const wait = this.installs.add(
        () => {
          this.writeOffset(request, command, offset);
        },
        () => {
          request.deny(ErrorCode.TransientNotAccepted);
        },
      );
      if (wait === undefined) request.deny(ErrorCode.TransientNotAccepted);
      return;
    }
    this.pipeline.submit(new OffsetWork(this.context, request, consumer, offset, ack));
  }

  /**
   * Stores the offset that a read returned, as part of the read. Gives 0 when it is stored or need not be, else the code
   * that refuses the read; nothing is stored then.
   */
  commitOnRead(read: CommitOnRead, ownerGeneration: number): number {
    const decision = this.machine.admitCommitOnRead(read);
    if (decision === "unchanged") return 0;
    if (decision !== "store") return decision.code;
    const { key, lastOffset } = read;
    // An explicit write of the key that still waits to be ordered decides first, so this read can't know its outcome.
    const isContended = this.pipeline.isQueued(
      (work) => work instanceof OffsetWork && work.key.kind === key.kind && work.key.id === key.id,
    );
    if (isContended) return ErrorCode.TransientNotAccepted;
    const isTaken = this.pipeline.submit(new CommitOnReadWork(this.machine, key, lastOffset, ownerGeneration));
    return isTaken ? 0 : ErrorCode.TransientNotAccepted;
  }

  /** Orders a decision of the server; gives 0 once it is committed, else why it is not. */
  order(operation: number, body: Uint8Array): Promise<number> {
    const isEnd = operation === Operation.TransitionPartitionHistory;
    if (isEnd) this.isEnding = true;
    return new Promise((resolve) => {
      const settle = (code: number): void => {
        if (isEnd) this.isEnding = false;
        resolve(code);
      };
      this.pipeline.submit(new ServerWork(this.machine, operation, body, settle));
    });
  }

  // Reads.

  /** First offset that a read from `startOffset` can give: what retention deleted is passed over. */
  firstKept(startOffset: number): number {
    return Math.max(startOffset, this.store.startOffset);
  }

  /**
   * Reads committed messages from an offset on, at once when they are in memory. Undefined when the disk has no room for
   * one more read now.
   */
  read(startOffset: number, count: number, maxBytes: number): ReadResult | Promise<ReadResult> | undefined {
    // Segments that are going show in what is read before their deletion is done.
    this.counted();
    const ceilingOffset = this.machine.nextOffset - 1;
    if (startOffset > ceilingOffset || count === 0) return emptyRead;
    const request = { startOffset, ceilingOffset, count, maxBytes };
    if (startOffset >= this.store.residentFrom) return this.store.read(request);
    return this.shard.diskReads.run(this.diskMemory(maxBytes), () => this.store.read(request));
  }

  /**
   * What a read gives its client: as stored, or decrypted. Or the code of a message that does not decrypt. The limits of
   * a read count what is stored, so a decrypted one stays within them.
   */
  opened(read: ReadResult): ReadResult | number {
    if (this.cipher === undefined || read.lastOffset === undefined) return read;
    const records = this.cipher.openRecords(read.pieces);
    if (typeof records === "number") {
      this.log.error({ code: records, offset: read.firstOffset }, "stored messages can not be decrypted");
      return records;
    }
    return { ...read, ...records };
  }

  /** First offset of the first committed batch at or after a time. Undefined when the disk has no room for the search. */
  offsetAt(micros: number): Promise<number | undefined> | undefined {
    const ceilingOffset = this.machine.nextOffset - 1;
    return this.shard.diskReads.run(this.diskMemory(TIME_SEARCH_BYTES), () =>
      this.store.offsetAt(micros, ceilingOffset),
    );
  }

  /** Memory of a read from the disk: a batch is verified as a whole, however little of it is wanted. */
  private diskMemory(wantedBytes: number): number {
    return Math.max(wantedBytes, this.machine.largestBatchBytes);
  }

  // What commits.

  journaled(op: number): void {
    if (this.isOutOfSpace) {
      this.isOutOfSpace = false;
      this.log.info({}, "the disk has room again: writes are taken");
    }
    this.pipeline.journaled(op);
    // A segment may have been sealed behind the last batch.
    this.counted();
  }

  /** The disk is full: what it refused never happened, and later writes may succeed. */
  rejected(fromOp: number, error: Error): void {
    if (!this.isOutOfSpace) this.log.error({ err: error }, "the disk is full: writes are refused until it has room");
    this.isOutOfSpace = true;
    this.pipeline.rejected(fromOp);
  }

  /** The disk failed under this partition, or its log contradicts itself: it serves nothing until it is opened anew. */
  fail(error: Error | CorruptHistoryError): void {
    if (this.closedWith !== 0) return;
    this.log.error({ err: error }, "the partition failed and is fenced until the next start");
    this.close(ErrorCode.HistoryUnavailable);
  }

  private applied(prepare: Prepare, applied: Applied): void {
    if (applied.messagesCount > 0) this.committedBytes += prepare.body.length;
    this.counted();
    for (const change of applied.offsetChanges) this.writeOffsetFile(change);
    if (applied.installedGroup !== undefined) this.installed();
    if (applied.drainedGroup !== undefined) {
      this.shard.environment.events.groupDrained(this.address, applied.drainedGroup);
    }
    if (prepare.operation === Operation.TransitionPartitionHistory) {
      this.recheckReaders();
      this.shard.environment.events.historyEnded(this.address, this.incarnation);
    }
  }

  /** Shows the figures to other shards. */
  counted(): void {
    this.shard.environment.events.counted?.(this);
  }

  /** The journal bridges the time until the file is written, so nobody waits for it. */
  private writeOffsetFile({ kind, id, offset }: OffsetChange): void {
    const written =
      offset === undefined
        ? this.store.deleteOffset(storedKinds[kind], id, false)
        : this.store.storeOffset(storedKinds[kind], id, offset, false);
    written.catch((error: unknown) => {
      this.log.warn({ err: error }, "an offset file could not be written");
    });
  }

  private installed(): void {
    this.installs.wake();
    this.recheckReaders();
  }

  private wake(): void {
    this.watches.advance(this.machine.nextOffset, this.committedBytes, (look) => {
      look();
    });
  }

  /** Fences or owners changed: everybody that waits looks again, and waits on or ends. */
  recheckReaders(): void {
    this.watches.clear((look) => {
      look();
    });
  }

  // What goes.

  /**
   * Deletes sealed segments that end at or below an offset. False when some could not go now; the next pass tries again.
   */
  async deleteSegments(throughOffset: number): Promise<boolean> {
    try {
      while (!this.isClosed && this.hasSealedThrough(throughOffset)) {
        const deleted = await this.shard.fileTasks.run(() =>
          this.store.deleteSegmentsThrough(throughOffset, SEGMENTS_PER_PASS),
        );
        if (deleted > 0) {
          this.counted();
          continue;
        }
        // The journal still refers to the segment: a checkpoint lets it go.
        if (!this.store.checkpointDue) return false;
        await this.checkpoints.take();
        if (this.isJournalStillBusy()) return false;
      }
      return true;
    } catch (error) {
      this.log.error({ err: error }, "segments could not be deleted");
      return false;
    }
  }

  private isJournalStillBusy(): boolean {
    return this.store.checkpointDue;
  }

  hasSealedThrough(offset: number): boolean {
    const oldest = this.store.sealedSegments[0];
    return oldest !== undefined && oldest.endOffset <= offset;
  }

  // The end.

  /** Serves nothing any more: what waits or is queued is refused with the code. */
  close(code: number): void {
    if (this.closedWith !== 0) return;
    this.closedWith = code;
    this.pipeline.close(code);
    this.installs.wake();
    this.recheckReaders();
  }

  /** Refuses what waits with 58; what is ordered still commits. */
  drain(): void {
    this.pipeline.drainOff(ErrorCode.TransientNotAccepted);
    this.installs.wake();
    this.recheckReaders();
  }

  /** Whether the session wrote here or is about to, so that its end must go through the log. */
  isWriter(client: bigint, session: number): boolean {
    if (this.machine.hasWriter(client, session)) return true;
    return this.pipeline.isQueued((work) => work instanceof ClientWork && work.isFrom(client, session));
  }

  /**
   * Writes everything that was acknowledged to stable storage and closes the files. Rejects, with the files closed, when
   * some of it could not be written.
   */
  async shutDown(): Promise<void> {
    try {
      if (!this.isClosed) await this.store.flush();
      if (!this.isClosed) await this.checkpoints.take();
    } finally {
      this.close(ErrorCode.TransientNotAccepted);
      await this.closeFiles();
    }
  }

  /** Closes the files of a group that is closed. */
  async closeFiles(): Promise<void> {
    await this.checkpoints.settled();
    await this.store.close();
  }
}
