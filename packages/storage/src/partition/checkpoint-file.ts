import { getU128, getU64, setU128, setU64, viewOf } from "../bytes.js";
import { DamagedFile } from "../errors.js";
import { readFile, replaceFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { CHECKPOINT_FILE } from "../layout.js";
import { openRecord, RecordKind, sealRecord } from "../records/sealed-record.js";
import type { SegmentFacts } from "./segment.js";

/**
 * Payload of the `checkpoint` record.
 *
 *    0 op u64              32 next offset u64           48 segment count u32
 *    8 synced op u64       40 greatest timestamp u64    52 segments, then the state to the end
 *   16 checksum u128
 *
 *   segment: start offset · next offset · bytes · messages · newest append time · op of the newest batch (u64 each)
 *
 * Everything up to `synced op`, and so every byte that the segment table counts, was synced before it was written.
 */
const VERSION = 1;
const HEAD_BYTES = 52;
const SEGMENT_BYTES = 48;
const FILE_BYTES_MAX = 1024 * 1024 * 1024;

export interface Checkpoint {
  /** Operation up to which `state` covers the log. */
  readonly op: number;
  readonly syncedOp: number;
  /** Identity of the prepare at `op`. */
  readonly checksum: bigint;
  readonly nextOffset: number;
  readonly timestampMicros: number;
  readonly segments: readonly SegmentFacts[];
  readonly state: Uint8Array;
}

export async function writeCheckpoint(io: Io, directory: string, checkpoint: Checkpoint): Promise<void> {
  const record = sealRecord(RecordKind.checkpoint, VERSION, [encodeHead(checkpoint), checkpoint.state]);
  await replaceFile(io, directory, CHECKPOINT_FILE, [record]);
}

/** Undefined when there is none; throws `DamagedFile` when it does not verify. */
export async function readCheckpoint(io: Io, directory: string): Promise<Checkpoint | undefined> {
  const path = `${directory}/${CHECKPOINT_FILE}`;
  const bytes = await readFile(io, path, FILE_BYTES_MAX);
  if (bytes === undefined) return undefined;
  const payload = openRecord(path, bytes, RecordKind.checkpoint, VERSION);
  if (payload.length < HEAD_BYTES) throw new DamagedFile(path, "too short");
  const view = viewOf(payload);
  const count = view.getUint32(48, true);
  const stateAt = HEAD_BYTES + count * SEGMENT_BYTES;
  if (stateAt > payload.length) throw new DamagedFile(path, "a segment table that is longer than the record");
  const segments: SegmentFacts[] = [];
  for (let at = HEAD_BYTES; at < stateAt; at += SEGMENT_BYTES) segments.push(decodeSegment(view, at));
  return {
    op: getU64(view, 0),
    syncedOp: getU64(view, 8),
    checksum: getU128(view, 16),
    nextOffset: getU64(view, 32),
    timestampMicros: getU64(view, 40),
    segments,
    state: payload.subarray(stateAt),
  };
}

function encodeHead(checkpoint: Checkpoint): Uint8Array {
  const { segments } = checkpoint;
  const bytes = new Uint8Array(HEAD_BYTES + segments.length * SEGMENT_BYTES);
  const view = viewOf(bytes);
  setU64(view, 0, checkpoint.op);
  setU64(view, 8, checkpoint.syncedOp);
  setU128(view, 16, checkpoint.checksum);
  setU64(view, 32, checkpoint.nextOffset);
  setU64(view, 40, checkpoint.timestampMicros);
  view.setUint32(48, segments.length, true);
  segments.forEach((segment, i) => encodeSegment(view, HEAD_BYTES + i * SEGMENT_BYTES, segment));
  return bytes;
}

function encodeSegment(view: DataView, at: number, segment: SegmentFacts): void {
  setU64(view, at, segment.startOffset);
  setU64(view, at + 8, segment.nextOffset);
  setU64(view, at + 16, segment.sizeBytes);
  setU64(view, at + 24, segment.messagesCount);
  setU64(view, at + 32, segment.newestTimestampMicros);
  setU64(view, at + 40, segment.lastOp);
}

function decodeSegment(view: DataView, at: number): SegmentFacts {
  return {
    startOffset: getU64(view, at),
    nextOffset: getU64(view, at + 8),
    sizeBytes: getU64(view, at + 16),
    messagesCount: getU64(view, at + 24),
    newestTimestampMicros: getU64(view, at + 32),
    lastOp: getU64(view, at + 40),
  };
}
