import { decodeBase64 } from "../../text/base64.js";
import {
  FRAME_HASHED_FROM,
  FRAME_HEADER_SIZE,
  FRAME_LENGTHS_OFFSET,
  type HashBackend,
  RUN_FRAMES,
} from "../backend.js";
import * as w from "../word64.js";
import { BLOCK_SIZE, consumeTail, INITIAL_ACCUMULATORS, STRIPE_SIZE } from "../xxh3-long.js";
import { mergeAccumulators } from "../xxh3-short.js";
import { moduleBase64 } from "./module.generated.js";

/** What this package uses of the engine's WebAssembly; it needs no type library of a browser. */
interface WebAssemblyHost {
  validate(module: Uint8Array): boolean;
  readonly Module: new (module: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: HashExports };
}
interface HashExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  hash(at: number, length: number): void;
  blocks(at: number, count: number): void;
  run(at: number, end: number): number;
}
declare const WebAssembly: WebAssemblyHost | undefined;

/** Places in the module's memory; xxh3.wat says the same. */
const ACCUMULATORS = 192;
const RESULT = 256;
const RUN_RESULTS = 512;
const WINDOW = RUN_RESULTS + 8 * RUN_FRAMES + STRIPE_SIZE;
/**
 * Input is copied in pieces of this size. The copy costs a fifth of the hashing; anything from 16 KiB to 256 KiB is
 * equally fast, and larger frames fit a larger window whole.
 */
const WINDOW_SIZE = 262_144;

/** The backend on WebAssembly, or undefined where the engine lacks SIMD, forbids WebAssembly or is big-endian. */
export function wasmBackend(): HashBackend | undefined {
  const exports = instantiate();
  return exports === undefined ? undefined : backendOn(exports);
}

function instantiate(): HashExports | undefined {
  const module = decodeBase64(moduleBase64);
  if (typeof WebAssembly === "undefined" || module === undefined || !isLittleEndian()) return undefined;
  try {
    // Validation fails where SIMD is unknown.
    if (!WebAssembly.validate(module)) return undefined;
    return new WebAssembly.Instance(new WebAssembly.Module(module)).exports;
  } catch {
    // A content security policy may forbid compilation; plain JavaScript gives the same results.
    return undefined;
  }
}

/** Results are read through word arrays, which have the order of the machine. */
const isLittleEndian = (): boolean => new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

function backendOn(exports: HashExports): HashBackend {
  const memory = new Uint8Array(exports.memory.buffer);
  const memoryView = new DataView(exports.memory.buffer);
  const accumulators = new Uint32Array(exports.memory.buffer, ACCUMULATORS, 16);
  const result = new Uint32Array(exports.memory.buffer, RESULT, 2);
  const runHashes = new Uint32Array(exports.memory.buffer, RUN_RESULTS, 2 * RUN_FRAMES);

  /** Copies a range behind the lead-in; the whole array needs no view of its own. */
  const load = (bytes: Uint8Array, at: number, length: number): void => {
    memory.set(at === 0 && length === bytes.length ? bytes : bytes.subarray(at, at + length), WINDOW);
  };

  const consumeBlocks = (bytes: Uint8Array, at: number, blocks: number): void => {
    const perWindow = WINDOW_SIZE / BLOCK_SIZE;
    for (let done = 0; done < blocks; done += perWindow) {
      const count = Math.min(perWindow, blocks - done);
      load(bytes, at + done * BLOCK_SIZE, count * BLOCK_SIZE);
      exports.blocks(WINDOW, count);
    }
  };

  /** An input that exceeds the window goes through it block by block; its end is mixed in outside. */
  const hashLarge = (out: Uint32Array, outAt: number, bytes: Uint8Array, at: number, length: number): void => {
    const blocks = Math.floor((length - 1) / BLOCK_SIZE);
    accumulators.set(INITIAL_ACCUMULATORS);
    consumeBlocks(bytes, at, blocks);
    const tail = at + blocks * BLOCK_SIZE;
    const remaining = length - blocks * BLOCK_SIZE;
    // The last stripe may reach back into what was consumed.
    memory.set(bytes.subarray(tail - STRIPE_SIZE, tail + remaining), WINDOW - STRIPE_SIZE);
    consumeTail(accumulators, memoryView, WINDOW, remaining);
    mergeAccumulators(accumulators, length);
    out[outAt] = w.low;
    out[outAt + 1] = w.high;
  };

  return {
    name: "wasm-simd",
    runHashes,
    hash: (out, bytes, at, length) => {
      if (length > WINDOW_SIZE) {
        hashLarge(out, 0, bytes, at, length);
        return;
      }
      load(bytes, at, length);
      exports.hash(WINDOW, length);
      out[0] = result[0] ?? 0;
      out[1] = result[1] ?? 0;
    },
    consumeBlocks: (into, bytes, at, blocks) => {
      accumulators.set(into);
      consumeBlocks(bytes, at, blocks);
      into.set(accumulators);
    },
    hashRun: (bytes, at, end) => {
      const length = Math.min(end - at, WINDOW_SIZE);
      load(bytes, at, length);
      const count = exports.run(WINDOW, WINDOW + length);
      if (count > 0 || length < FRAME_HEADER_SIZE) return count;
      const lengths = WINDOW + FRAME_LENGTHS_OFFSET;
      const size = FRAME_HEADER_SIZE + memoryView.getUint32(lengths, true) + memoryView.getUint32(lengths + 4, true);
      if (size > end - at) return 0;
      hashLarge(runHashes, 0, bytes, at + FRAME_HASHED_FROM, size - FRAME_HASHED_FROM);
      return 1;
    },
  };
}
