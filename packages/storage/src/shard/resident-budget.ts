import type { Memory } from "../contracts.js";

/** What a tail of recent batches does for the budget. */
export interface ResidentHolder {
  /** Forgets the oldest batch, which the budget chose; it is not there any more afterwards. */
  evictOldest(): void;
}

/** A recent batch, in the very buffer that was appended. */
export class ResidentBatch {
  readonly holder: ResidentHolder;
  readonly record: Uint8Array;
  readonly memory: Memory | undefined;
  readonly baseOffset: number;
  readonly messagesCount: number;
  readonly timestampMicros: number;
  /** Neighbours in the order in which batches of all partitions came. */
  older: ResidentBatch | undefined;
  newer: ResidentBatch | undefined;

  constructor(
    holder: ResidentHolder,
    record: Uint8Array,
    memory: Memory | undefined,
    baseOffset: number,
    messagesCount: number,
    timestampMicros: number,
  ) {
    this.holder = holder;
    this.record = record;
    this.memory = memory;
    this.baseOffset = baseOffset;
    this.messagesCount = messagesCount;
    this.timestampMicros = timestampMicros;
    this.older = undefined;
    this.newer = undefined;
  }
}

/** How many resident batches lie in one block or buffer. */
interface Pin {
  batches: number;
}

/**
 * Memory of recent batches that the partitions of one shard share. When it is used up, the oldest batch of all goes,
 * whoever it belongs to, so the memory follows the partitions that are written. What counts is what a batch keeps from
 * being reused: the whole block or buffer that it lies in, once for all batches in it.
 */
export class ResidentBudget {
  readonly bytesMax: number;
  private usedBytes = 0;
  private oldest: ResidentBatch | undefined;
  private newest: ResidentBatch | undefined;
  private readonly pins = new Map<Memory | ArrayBufferLike, Pin>();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Bytes that resident batches keep from being reused. */
  get bytes(): number {
    return this.usedBytes;
  }

  /** Takes in the newest batch of its holder, which may lose batches by it, this one included. */
  add(batch: ResidentBatch): void {
    batch.older = this.newest;
    if (this.newest === undefined) this.oldest = batch;
    else this.newest.newer = batch;
    this.newest = batch;
    this.pin(batch);
    while (this.usedBytes > this.bytesMax && this.oldest !== undefined) this.oldest.holder.evictOldest();
  }

  /** The holder has forgotten a batch. */
  remove(batch: ResidentBatch): void {
    const { older, newer } = batch;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    // An old batch that still names a newer one would keep it alive through a collection of young objects.
    batch.older = undefined;
    batch.newer = undefined;
    this.unpin(batch);
  }

  /**
   * Gives up the oldest batches until so many bytes are free, for whoever needs memory more. Returns how many are.
   * Readers that are being answered keep theirs until they are done.
   */
  evict(bytes: number): number {
    const before = this.usedBytes;
    while (before - this.usedBytes < bytes && this.oldest !== undefined) this.oldest.holder.evictOldest();
    return before - this.usedBytes;
  }

  private pin({ record, memory }: ResidentBatch): void {
    const owner = memory ?? record.buffer;
    const pinned = memory === undefined ? record.buffer.byteLength : memory.bytes.length;
    const pin = this.pins.get(owner);
    if (pin !== undefined) pin.batches++;
    else {
      this.pins.set(owner, { batches: 1 });
      this.usedBytes += pinned;
    }
  }

  private unpin({ record, memory }: ResidentBatch): void {
    const owner = memory ?? record.buffer;
    const pin = this.pins.get(owner);
    if (pin === undefined || --pin.batches > 0) return;
    this.pins.delete(owner);
    this.usedBytes -= memory === undefined ? record.buffer.byteLength : memory.bytes.length;
  }
}
