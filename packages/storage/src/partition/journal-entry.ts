import { xxh3_64Into } from "@iggy/protocol";
import { getU64, setU64, viewOf } from "../bytes.js";
import type { Staging } from "../shard/staging.js";
import type { ChainEnd } from "./chain-end.js";

/**
 * Entry of the prepare journal. A batch is named by its place in the segments; any other operation carries its body.
 *
 *    0 checksum u64, XXH3-64 of all behind it   40 batch: message count u32
 *    8 checksum of the entry before u64         44 batch: length u32, else body length u32
 *   16 length of the entry u32                  48 batch: start offset of its segment u64
 *   20 kind u8: 1 batch, 2 operation            56 batch: position in the segment u64
 *   21 3 zero bytes                             64 batch: base offset u64
 *   24 op u64                                   72 batch: its checksum u64
 *   32 synced op u64                            80 prepare header, 256
 *                                               336 body, and zeros up to a multiple of 8
 *
 * `synced op` is the highest operation that was known to be on stable storage when the entry was written, so what may
 * have been lost with the power and what may not is known after a crash. The chained checksum tells an entry of this
 * log from an older one that lies at the same place.
 */
export const ENTRY_HEAD_BYTES = 336;
const HEADER_AT = 80;
const HEADER_BYTES = 256;
const ALIGNMENT = 8;

const KIND_BATCH = 1;
const KIND_OPERATION = 2;

/** Longest body of an operation. */
export const OPERATION_BYTES_MAX = 64 * 1024 * 1024;

export interface StoredBatch {
  readonly segmentStart: number;
  readonly position: number;
  readonly bytes: number;
  readonly baseOffset: number;
  readonly messagesCount: number;
  readonly checksum: bigint;
}

export interface StoredEntry {
  readonly op: number;
  readonly syncedOp: number;
  /** Checksum of this entry, which the next one repeats. */
  readonly chain: bigint;
  readonly previous: bigint;
  /** Bytes in the journal. */
  readonly length: number;
  readonly header: Uint8Array;
  /** Empty for a batch. */
  readonly body: Uint8Array;
  readonly batch: StoredBatch | undefined;
}

const words = new Uint32Array(2);

export function entryLength(bodyLength: number): number {
  return Math.ceil((ENTRY_HEAD_BYTES + bodyLength) / ALIGNMENT) * ALIGNMENT;
}

/** Stages the entry of a batch, whose record begins at `position` of a segment, and moves the end of the chain to it. */
export function stageBatchEntry(
  staging: Staging,
  chain: ChainEnd,
  op: number,
  syncedOp: number,
  header: Uint8Array,
  record: Uint8Array,
  segmentStart: number,
  position: number,
): void {
  const at = staging.reserve(ENTRY_HEAD_BYTES);
  const { bytes, view } = staging;
  stageHead(staging, at, chain, op, syncedOp, header, ENTRY_HEAD_BYTES);
  view.setUint8(at + 20, KIND_BATCH);
  view.setUint32(at + 44, record.length, true);
  setU64(view, at + 48, segmentStart);
  setU64(view, at + 56, position);
  // Straight from the batch header: message count at 48, base offset at 8, checksum at 40.
  for (let i = 0; i < 4; i++) bytes[at + 40 + i] = record[48 + i] ?? 0;
  for (let i = 0; i < 8; i++) bytes[at + 64 + i] = record[8 + i] ?? 0;
  for (let i = 0; i < 8; i++) bytes[at + 72 + i] = record[40 + i] ?? 0;
  seal(staging, at, ENTRY_HEAD_BYTES, chain);
}

/** Stages the entry of any other operation with its body. */
export function stageOperationEntry(
  staging: Staging,
  chain: ChainEnd,
  op: number,
  syncedOp: number,
  header: Uint8Array,
  body: Uint8Array,
): void {
  const length = entryLength(body.length);
  const at = staging.reserve(length);
  const { bytes, view } = staging;
  stageHead(staging, at, chain, op, syncedOp, header, length);
  view.setUint8(at + 20, KIND_OPERATION);
  view.setUint32(at + 44, body.length, true);
  bytes.set(body, at + ENTRY_HEAD_BYTES);
  bytes.fill(0, at + ENTRY_HEAD_BYTES + body.length, at + length);
  seal(staging, at, length, chain);
}

function stageHead(
  { bytes, view }: Staging,
  at: number,
  chain: ChainEnd,
  op: number,
  syncedOp: number,
  header: Uint8Array,
  length: number,
): void {
  bytes.fill(0, at, at + HEADER_AT);
  view.setInt32(at + 8, chain.low, true);
  view.setInt32(at + 12, chain.high, true);
  view.setUint32(at + 16, length, true);
  setU64(view, at + 24, op);
  setU64(view, at + 32, syncedOp);
  bytes.set(header, at + HEADER_AT);
}

function seal({ bytes, view, checksums }: Staging, at: number, length: number, chain: ChainEnd): void {
  checksums.hashInto(words, bytes, at + 8, length - 8);
  chain.moveTo(words);
  view.setInt32(at, chain.low, true);
  view.setInt32(at + 4, chain.high, true);
}

/** The entry at `at`, or undefined when the bytes there are none. What follows from the chain is left to the caller. */
export function readEntry(bytes: Uint8Array, at: number): StoredEntry | undefined {
  if (at + ENTRY_HEAD_BYTES > bytes.length) return undefined;
  const view = viewOf(bytes);
  const length = statedLength(view, at);
  if (length === undefined || at + length > bytes.length) return undefined;
  xxh3_64Into(words, bytes, at + 8, length - 8);
  if (words[0] !== view.getUint32(at, true) || words[1] !== view.getUint32(at + 4, true)) return undefined;
  return {
    op: getU64(view, at + 24),
    syncedOp: getU64(view, at + 32),
    chain: view.getBigUint64(at, true),
    previous: view.getBigUint64(at + 8, true),
    length,
    header: bytes.subarray(at + HEADER_AT, at + HEADER_AT + HEADER_BYTES),
    body: bytes.subarray(at + ENTRY_HEAD_BYTES, at + ENTRY_HEAD_BYTES + bodyLengthAt(view, at)),
    batch: view.getUint8(at + 20) === KIND_BATCH ? readBatch(view, at) : undefined,
  };
}

/**
 * Whether the bytes from `at` on, which are no whole entry, can be the beginning of one that was never written to its
 * end: a head that is not all there, or one that states more bytes than there are. The length is stated twice, in two
 * ways, so that a damaged one is not taken for a long entry.
 */
export function isBeginningOfEntry(bytes: Uint8Array, at: number): boolean {
  if (at + ENTRY_HEAD_BYTES > bytes.length) return true;
  const length = statedLength(viewOf(bytes), at);
  return length !== undefined && at + length > bytes.length;
}

/** Length of the entry whose head is at `at`; undefined when its fields contradict each other. */
function statedLength(view: DataView, at: number): number | undefined {
  const kind = view.getUint8(at + 20);
  if (kind !== KIND_BATCH && kind !== KIND_OPERATION) return undefined;
  const length = view.getUint32(at + 16, true);
  return length === entryLength(bodyLengthAt(view, at)) ? length : undefined;
}

function bodyLengthAt(view: DataView, at: number): number {
  return view.getUint8(at + 20) === KIND_OPERATION ? view.getUint32(at + 44, true) : 0;
}

function readBatch(view: DataView, at: number): StoredBatch {
  return {
    messagesCount: view.getUint32(at + 40, true),
    bytes: view.getUint32(at + 44, true),
    segmentStart: getU64(view, at + 48),
    position: getU64(view, at + 56),
    baseOffset: getU64(view, at + 64),
    checksum: view.getBigUint64(at + 72, true),
  };
}

/** The first entry at or after `from`, wherever it lies: whether anything whole follows a damaged place. */
export function findEntry(bytes: Uint8Array, from: number): { at: number; entry: StoredEntry } | undefined {
  for (let at = Math.ceil(from / ALIGNMENT) * ALIGNMENT; at + ENTRY_HEAD_BYTES <= bytes.length; at += ALIGNMENT) {
    const entry = readEntry(bytes, at);
    if (entry !== undefined) return { at, entry };
  }
  return undefined;
}
