import { getU64 } from "../codec/integers.js";
import { WireError } from "../codec/wire-error.js";
import { hashRun, runHashes } from "../hash/xxh3.js";
import { BASE_OFFSET_OFFSET, BATCH_CHECKSUM_OFFSET } from "./batch-view.js";
import * as checksum from "./checksum.js";
import {
  checkBatchHeader,
  checkFrames,
  OFFSET_DELTA_OFFSET,
  PAYLOAD_LENGTH_OFFSET,
  USER_HEADERS_LENGTH_OFFSET,
} from "./layout.js";
import { BATCH_HEADER_SIZE, MESSAGE_HEADER_SIZE } from "./limits.js";

/**
 * Checks the layout of the batch at `offset`, the checksum of every frame and the batch checksum, and returns its
 * length. `available` bounds the batch. Throws a WireError: layout 3, `InvalidMessageChecksum` (4027) for the first
 * damaged frame, else `InvalidBatchChecksum` (4039).
 */
export function verifyBatch(bytes: Uint8Array, offset = 0, available = bytes.length - offset): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = checkBatchHeader(view, offset, Math.min(available, bytes.length - offset), 0);
  checkFrames(view, offset, length, 0);
  const end = offset + length;
  checksum.begin(view, offset);
  let frame = offset + BATCH_HEADER_SIZE;
  while (frame < end) {
    const count = hashRun(bytes, frame, end);
    for (let i = 0; i < count; i++) {
      const low = view.getUint32(frame, true);
      const high = view.getUint32(frame + 4, true);
      if (runHashes[2 * i] !== low || runHashes[2 * i + 1] !== high) throw damagedMessage(view, offset, frame, i);
      checksum.add(low, high);
      frame = frameEnd(view, frame);
    }
  }
  const computed = checksum.finish();
  if (
    computed[0] !== view.getUint32(offset + BATCH_CHECKSUM_OFFSET, true) ||
    computed[1] !== view.getUint32(offset + BATCH_CHECKSUM_OFFSET + 4, true)
  ) {
    const stored = view.getBigUint64(offset + BATCH_CHECKSUM_OFFSET, true);
    throw new WireError(
      "InvalidBatchChecksum",
      `batch at offset ${String(getU64(view, offset + BASE_OFFSET_OFFSET))} stores checksum ${String(stored)}, its content has ${wordsText(computed, 0)}`,
      offset + BATCH_CHECKSUM_OFFSET,
    );
  }
  return length;
}

/** End of a frame whose layout was checked. */
export function frameEnd(view: DataView, frame: number): number {
  return (
    frame +
    MESSAGE_HEADER_SIZE +
    view.getUint32(frame + PAYLOAD_LENGTH_OFFSET, true) +
    view.getUint32(frame + USER_HEADERS_LENGTH_OFFSET, true)
  );
}

function damagedMessage(view: DataView, batch: number, frame: number, i: number): WireError {
  const offset = getU64(view, batch + BASE_OFFSET_OFFSET) + view.getUint32(frame + OFFSET_DELTA_OFFSET, true);
  return new WireError(
    "InvalidMessageChecksum",
    `message at offset ${String(offset)} stores checksum ${String(view.getBigUint64(frame, true))}, its content has ${wordsText(runHashes, i)}`,
    frame,
  );
}

const wordsText = (words: Uint32Array, i: number): string =>
  String(BigInt(words[2 * i] ?? 0) | (BigInt(words[2 * i + 1] ?? 0) << 32n));
