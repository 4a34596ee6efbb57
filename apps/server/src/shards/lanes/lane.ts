import { RecordReader, RecordWriter } from "./record.js";

/**
 * A lane is a ring of records from one thread to one other, in shared memory:
 *
 *      0 head u32: bytes taken          64 tail u32: bytes written     128 producer waits i32
 *      4 records taken u32              68 records written u32         192 records
 *
 * Positions count on and wrap at 2^32. A record is `[size u32][kind-free content]`, padded to 8 bytes, and never wraps: where
 * it does not fit before the end of the ring, a size of `SKIP` sends the reader to the start. Each side writes its own
 * words only, so that neither disturbs the other's cache line.
 */
const HEAD = 0;
const TAKEN = 1;
const TAIL = 16;
const WRITTEN = 17;
const PRODUCER_WAITS = 32;
const HEADER_BYTES = 192;
const SIZE_BYTES = 4;
const SKIP = 0xffff_ffff;
/** What the records of a lane take on average, by which its bytes follow from its capacity in records. */
const RECORD_BYTES_TYPICAL = 128;
const RING_BYTES_MIN = 64 * 1024;
const RING_BYTES_MAX = 8 * 1024 * 1024;

export interface LaneMemory {
  readonly shared: SharedArrayBuffer;
  /** Records that it holds at most. */
  readonly capacity: number;
}

export function createLane(capacity: number): LaneMemory {
  return {
    shared: new SharedArrayBuffer(HEADER_BYTES + ringBytesFor(capacity)),
    capacity,
  };
}

/** Largest record that any lane takes, however small its ring: an eighth of the smallest. */
export const RECORD_BYTES_MAX = RING_BYTES_MIN / 8;

function ringBytesFor(capacity: number): number {
  const wanted = Math.min(Math.max(capacity * RECORD_BYTES_TYPICAL, RING_BYTES_MIN), RING_BYTES_MAX);
  return 2 ** Math.ceil(Math.log2(wanted));
}

const padded = (bytes: number): number => (bytes + 7) & ~7;

/** The writing side of a lane. */
export class LaneProducer {
  private readonly words: Int32Array;
  private readonly writer: RecordWriter;
  private readonly ringBytes: number;
  private readonly capacity: number;
  private tail = 0;
  private written = 0;
  /** As last looked up: the truth is never behind it. */
  private head = 0;
  private taken = 0;

  constructor({ shared, capacity }: LaneMemory) {
    this.words = new Int32Array(shared, 0, HEADER_BYTES / 4);
    this.ringBytes = shared.byteLength - HEADER_BYTES;
    this.writer = new RecordWriter(new Uint8Array(shared, HEADER_BYTES));
    this.capacity = capacity;
  }

  /**
   * Room for a record of at most so many bytes, to be filled and then published by `commit`. Undefined when the lane has
   * none now. The writer is used again by the next record.
   */
  begin(bytesMax: number): RecordWriter | undefined {
    if (bytesMax > RECORD_BYTES_MAX) throw new RangeError(`a record of ${bytesMax} bytes is too large for a lane`);
    const needed = padded(SIZE_BYTES + bytesMax);
    if (!this.hasRoom(needed)) {
      this.head = Atomics.load(this.words, HEAD) >>> 0;
      this.taken = Atomics.load(this.words, TAKEN) >>> 0;
      if (!this.hasRoom(needed)) return undefined;
    }
    const at = this.tail & (this.ringBytes - 1);
    if (this.ringBytes - at < needed) {
      this.writer.at(at).u32(SKIP);
      this.tail = (this.tail + this.ringBytes - at) >>> 0;
    }
    return this.writer.at((this.tail & (this.ringBytes - 1)) + SIZE_BYTES);
  }

  commit(): void {
    const start = this.tail & (this.ringBytes - 1);
    const bytes = padded(this.writer.offset - start);
    this.writer.at(start).u32(bytes);
    this.tail = (this.tail + bytes) >>> 0;
    this.written = (this.written + 1) >>> 0;
    Atomics.store(this.words, WRITTEN, this.written | 0);
    Atomics.store(this.words, TAIL, this.tail | 0);
  }

  /** Asks the reader to say when it has taken something. False when there is room by now. */
  waitForRoom(): boolean {
    Atomics.store(this.words, PRODUCER_WAITS, 1);
    if (!this.isEmpty) return true;
    Atomics.store(this.words, PRODUCER_WAITS, 0);
    return false;
  }

  private get isEmpty(): boolean {
    return Atomics.load(this.words, HEAD) >>> 0 === this.tail;
  }

  private hasRoom(needed: number): boolean {
    if ((this.written - this.taken) >>> 0 >= this.capacity) return false;
    const at = this.tail & (this.ringBytes - 1);
    const skipped = this.ringBytes - at < needed ? this.ringBytes - at : 0;
    return ((this.tail - this.head) >>> 0) + skipped + needed <= this.ringBytes;
  }
}

/** The reading side of a lane. */
export class LaneConsumer {
  private readonly words: Int32Array;
  private readonly reader: RecordReader;
  private readonly ringBytes: number;
  private head = 0;
  private taken = 0;
  /** As last looked up. */
  private tail = 0;
  private recordBytes = 0;

  constructor({ shared }: LaneMemory) {
    this.words = new Int32Array(shared, 0, HEADER_BYTES / 4);
    this.ringBytes = shared.byteLength - HEADER_BYTES;
    this.reader = new RecordReader(new Uint8Array(shared, HEADER_BYTES));
  }

  get isEmpty(): boolean {
    return Atomics.load(this.words, TAIL) >>> 0 === this.head;
  }

  /** The oldest record, valid until `release`; undefined when there is none. The reader is used again by the next one. */
  next(): RecordReader | undefined {
    if (this.head === this.tail) {
      this.tail = Atomics.load(this.words, TAIL) >>> 0;
      if (this.head === this.tail) return undefined;
    }
    let at = this.head & (this.ringBytes - 1);
    let size = this.reader.at(at).u32();
    if (size === SKIP) {
      this.head = (this.head + this.ringBytes - at) >>> 0;
      at = 0;
      size = this.reader.at(0).u32();
    }
    this.recordBytes = size;
    return this.reader.at(at + SIZE_BYTES);
  }

  /** Gives the memory of the record back. */
  release(): void {
    this.head = (this.head + this.recordBytes) >>> 0;
    this.taken = (this.taken + 1) >>> 0;
    Atomics.store(this.words, TAKEN, this.taken | 0);
    Atomics.store(this.words, HEAD, this.head | 0);
  }

  /** Whether the writer waits for room; it is told once. */
  takeWaitingProducer(): boolean {
    return Atomics.load(this.words, PRODUCER_WAITS) !== 0 && Atomics.exchange(this.words, PRODUCER_WAITS, 0) !== 0;
  }
}
