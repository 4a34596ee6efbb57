import {
  FRAME_HASHED_FROM,
  FRAME_HEADER_SIZE,
  FRAME_LENGTHS_OFFSET,
  type HashBackend,
  type HashWords,
  RUN_FRAMES,
} from "./backend.js";
import * as w from "./word64.js";
import { BLOCK_SIZE, consumeBlocks, consumeTail, INITIAL_ACCUMULATORS } from "./xxh3-long.js";
import { hashShort, mergeAccumulators, SHORT_MAX } from "./xxh3-short.js";

const accumulators = new Uint32Array(16);
const runHashes = new Uint32Array(2 * RUN_FRAMES);

function hashView(out: HashWords, outAt: number, view: DataView, at: number, length: number): void {
  if (length <= SHORT_MAX) hashShort(view, at, length);
  else {
    const blocks = Math.floor((length - 1) / BLOCK_SIZE);
    accumulators.set(INITIAL_ACCUMULATORS);
    consumeBlocks(accumulators, view, at, blocks);
    consumeTail(accumulators, view, at + blocks * BLOCK_SIZE, length - blocks * BLOCK_SIZE);
    mergeAccumulators(accumulators, length);
  }
  out[outAt] = w.low;
  out[outAt + 1] = w.high;
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** 32-bit arithmetic only: runs on every engine. */
export const portable: HashBackend = {
  name: "javascript",
  runHashes,
  hash: (out, bytes, at, length) => {
    hashView(out, 0, viewOf(bytes), at, length);
  },
  consumeBlocks: (into, bytes, at, blocks) => {
    consumeBlocks(into, viewOf(bytes), at, blocks);
  },
  hashRun: (bytes, at, end) => {
    const view = viewOf(bytes);
    let frame = at;
    let count = 0;
    while (count < RUN_FRAMES && frame + FRAME_HEADER_SIZE <= end) {
      const lengths = frame + FRAME_LENGTHS_OFFSET;
      const next = frame + FRAME_HEADER_SIZE + view.getUint32(lengths, true) + view.getUint32(lengths + 4, true);
      if (next > end) break;
      hashView(runHashes, 2 * count, view, frame + FRAME_HASHED_FROM, next - frame - FRAME_HASHED_FROM);
      frame = next;
      count++;
    }
    return count;
  },
};
