import { letGo } from "../../memory/let-go.js";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import type { Memory } from "@iggy/storage";
import { ownBytes, type RecordReader, type RecordWriter } from "./record.js";

/** Bytes that came from another thread, and what holds them when they are pooled. */
export interface Received {
  readonly pieces: readonly Uint8Array[];
  readonly memory: readonly Memory[];
}

/**
 * Carries the bodies of one lane: the sender writes into the record where they are, the receiver finds them there. Both
 * sides must go through the records in the order of the lane.
 */
export interface Exporter {
  /**
   * Writes at most `REFERENCE_BYTES_MAX` into the record. Takes one reference of each `memory`, in which some of the pieces
   * may lie: it is handed over, or released once the pieces are copied.
   */
  send(record: RecordWriter, pieces: readonly Uint8Array[], memory: readonly Memory[]): void;
  /** Whether the receiver has taken enough of what was copied before, so that a body of this size may be copied now. */
  hasRoom(bytes: number): boolean;
}

export interface Importer {
  /** The receiver owns a reference of each memory. */
  receive(record: RecordReader): Received;
}

/** Bodies up to this size travel in the record itself. */
const INLINE_BYTES_MAX = 1024;
/** Room in the record for a body, or for the places of some hundred pieces of one. */
export const REFERENCE_BYTES_MAX = 6 * 1024;

/** What a copied body takes of the record. */
const COPIED_BYTES_MAX = 9 + INLINE_BYTES_MAX;

const INLINE = 0;
const ARENA = 1;
const POSTED = 2;
const REFERRED = 3;

/** Posted bytes that the receiver has yet to take, above which a reply waits as it is. */
const POSTED_BYTES_MAX = 32 * 1024 * 1024;

const HEADER_BYTES = 64;
const HEAD = 0;
/** Posted bytes that were taken, modulo 2^32. */
const TAKEN_POSTED = 8;

/**
 * The bytes between two threads that share no pool: a ring beside the lane, filled and emptied in the order of its records.
 * What does not fit now, or never would, is posted in memory of its own, so a body never waits for another one.
 */
export interface ArenaMemory {
  readonly shared: SharedArrayBuffer;
}

/** `bytes` is a power of two. */
export const createArena = (bytes: number): ArenaMemory => ({
  shared: new SharedArrayBuffer(HEADER_BYTES + bytes),
});

export class CopyingExporter implements Exporter {
  private readonly words: Int32Array;
  private readonly ring: Uint8Array;
  private readonly port: MessagePort;
  private tail = 0;
  private posted = 0;

  constructor({ shared }: ArenaMemory, port: MessagePort) {
    this.words = new Int32Array(shared, 0, HEADER_BYTES / 4);
    this.ring = new Uint8Array(shared, HEADER_BYTES);
    this.port = port;
  }

  hasRoom(bytes: number): boolean {
    if (bytes <= INLINE_BYTES_MAX) return true;
    const outstanding = (this.posted - Atomics.load(this.words, TAKEN_POSTED)) >>> 0;
    return outstanding === 0 || outstanding + bytes <= POSTED_BYTES_MAX;
  }

  send(record: RecordWriter, pieces: readonly Uint8Array[], memory: readonly Memory[]): void {
    let length = 0;
    for (const piece of pieces) length += piece.length;
    if (length <= INLINE_BYTES_MAX) {
      record.u8(INLINE);
      record.u16(length);
      for (const piece of pieces) record.raw(piece);
    } else if (!this.putInArena(record, pieces, length)) this.post(record, pieces, length);
    letGo(memory);
  }

  private putInArena(record: RecordWriter, pieces: readonly Uint8Array[], length: number): boolean {
    const { ring } = this;
    const head = Atomics.load(this.words, HEAD) >>> 0;
    const at = this.tail & (ring.length - 1);
    const skipped = ring.length - at < length ? ring.length - at : 0;
    const used = (this.tail - head) >>> 0;
    if (used + skipped + length > ring.length) return false;
    const start = skipped === 0 ? at : 0;
    copyInto(ring, start, pieces);
    this.tail = (this.tail + skipped + length) >>> 0;
    record.u8(ARENA);
    record.u32(start);
    record.u32(length);
    return true;
  }

  private post(record: RecordWriter, pieces: readonly Uint8Array[], length: number): void {
    const bytes = ownBytes(length);
    copyInto(bytes, 0, pieces);
    const { buffer } = bytes;
    if (buffer instanceof ArrayBuffer) this.port.postMessage(buffer, [buffer]);
    this.posted = (this.posted + length) >>> 0;
    record.u8(POSTED);
  }
}

/** Pooled memory that all threads see, in which bytes are known by their place. */
export interface SharedPool {
  /** Where these bytes lie, -1 when they are elsewhere. */
  offsetOf(bytes: Uint8Array): number;
  view(offset: number, length: number): Uint8Array;
  /** A block that another thread handed over, with the one reference that came with it. */
  adopt(offset: number): Memory;
}

/** The place of a piece that lies outside the pool, such as the head of a reply. */
const LOOSE = -1;

/** Hands pooled pieces over by reference, and copies what is small or lies elsewhere. */
export class ReferringExporter implements Exporter {
  private readonly pool: SharedPool;
  private readonly copying: Exporter;

  constructor(pool: SharedPool, copying: Exporter) {
    this.pool = pool;
    this.copying = copying;
  }

  hasRoom(bytes: number): boolean {
    return this.copying.hasRoom(bytes);
  }

  send(record: RecordWriter, pieces: readonly Uint8Array[], memory: readonly Memory[]): void {
    const blocks = this.blocksOf(pieces, memory);
    if (blocks === undefined) {
      this.copying.send(record, pieces, memory);
      return;
    }
    record.u8(REFERRED);
    record.u16(blocks.length);
    for (const offset of blocks) record.f64(offset);
    record.u16(pieces.length);
    const loose: Uint8Array[] = [];
    for (const piece of pieces) {
      const offset = this.pool.offsetOf(piece);
      record.f64(offset);
      record.u32(piece.length);
      if (offset === LOOSE) loose.push(piece);
    }
    this.copying.send(record, loose, []);
  }

  /** The places of the blocks, when everything can be referred to. */
  private blocksOf(pieces: readonly Uint8Array[], memory: readonly Memory[]): number[] | undefined {
    const recordBytes = 5 + 8 * memory.length + 12 * pieces.length + COPIED_BYTES_MAX;
    if (memory.length === 0 || recordBytes > REFERENCE_BYTES_MAX) return undefined;
    let pooledBytes = 0;
    for (const piece of pieces) if (this.pool.offsetOf(piece) !== LOOSE) pooledBytes += piece.length;
    if (pooledBytes <= INLINE_BYTES_MAX) return undefined;
    const blocks: number[] = [];
    for (const held of memory) {
      if (!("offset" in held) || typeof held.offset !== "number") return undefined;
      blocks.push(held.offset);
    }
    return blocks;
  }
}

/** Receives what any exporter sent. */
export class BodyImporter implements Importer {
  private readonly words: Int32Array;
  private readonly ring: Uint8Array;
  private readonly port: MessagePort;
  private readonly pool: SharedPool | undefined;

  constructor({ shared }: ArenaMemory, port: MessagePort, pool?: SharedPool) {
    this.pool = pool;
    this.words = new Int32Array(shared, 0, HEADER_BYTES / 4);
    this.ring = new Uint8Array(shared, HEADER_BYTES);
    this.port = port;
  }

  receive(record: RecordReader): Received {
    switch (record.u8()) {
      case INLINE:
        return alone(record.raw(record.u16()));
      case ARENA:
        return alone(this.takeFromArena(record.u32(), record.u32()));
      case REFERRED:
        return this.takeReferred(record);
      default:
        return alone(this.takePosted());
    }
  }

  private takeReferred(record: RecordReader): Received {
    const { pool } = this;
    if (pool === undefined) throw new Error("a body was handed over by reference to a shard without the pool");
    const memory = Array.from({ length: record.u16() }, () => pool.adopt(record.f64()));
    const places = Array.from({ length: record.u16() }, () => ({ offset: record.f64(), length: record.u32() }));
    const [loose = new Uint8Array(0)] = this.receive(record).pieces;
    let at = 0;
    const pieces = places.map(({ offset, length }) => {
      if (offset !== LOOSE) return pool.view(offset, length);
      at += length;
      return loose.subarray(at - length, at);
    });
    return { pieces, memory };
  }

  private takeFromArena(start: number, length: number): Uint8Array {
    const copy = ownBytes(length);
    copy.set(this.ring.subarray(start, start + length));
    const head = Atomics.load(this.words, HEAD) >>> 0;
    const at = head & (this.ring.length - 1);
    const skipped = start < at ? this.ring.length - at : 0;
    Atomics.store(this.words, HEAD, (head + skipped + length) | 0);
    return copy;
  }

  /** The sender posted it before it wrote the record, so it is here. */
  private takePosted(): Uint8Array {
    const found: unknown = receiveMessageOnPort(this.port)?.message;
    if (!(found instanceof ArrayBuffer)) throw new Error("a body that was posted to this shard is not there");
    Atomics.add(this.words, TAKEN_POSTED, found.byteLength);
    return new Uint8Array(found);
  }
}

const alone = (bytes: Uint8Array): Received => ({
  pieces: bytes.length === 0 ? [] : [bytes],
  memory: [],
});

function copyInto(target: Uint8Array, start: number, pieces: readonly Uint8Array[]): void {
  let at = start;
  for (const piece of pieces) {
    target.set(piece, at);
    at += piece.length;
  }
}
