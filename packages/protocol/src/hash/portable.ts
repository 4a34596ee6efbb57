import type { HashBackend } from "./backend.js";
import * as w from "./word64.js";
import { BLOCK_SIZE, consumeBlocks, consumeTail, INITIAL_ACCUMULATORS } from "./xxh3-long.js";
import { hashShort, mergeAccumulators, SHORT_MAX } from "./xxh3-short.js";

const accumulators = new Uint32Array(16);

/** 32-bit arithmetic only: runs on every engine. */
export const portable: HashBackend = {
  name: "javascript",
  hash: (out, bytes, at, length) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at, length);
    if (length <= SHORT_MAX) hashShort(view, 0, length);
    else {
      const blocks = Math.floor((length - 1) / BLOCK_SIZE);
      accumulators.set(INITIAL_ACCUMULATORS);
      consumeBlocks(accumulators, view, 0, blocks);
      consumeTail(accumulators, view, blocks * BLOCK_SIZE, length - blocks * BLOCK_SIZE);
      mergeAccumulators(accumulators, length);
    }
    out[0] = w.low;
    out[1] = w.high;
  },
  consumeBlocks: (into, bytes, at, blocks) => {
    consumeBlocks(into, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), at, blocks);
  },
};
