import type { Outcome } from "../hash/index.js";
import type { SivBackend } from "./siv-backend.js";

/** What the native calls on batches return. */
export const SIV_FAULT = {
  none: 0,
  /** The batch is longer than the bytes that are there. */
  cut: 1,
  layout: 2,
  /** A section that this key did not seal. */
  notSealed: 5,
} as const;

/**
 * The AES-256-GCM-SIV functions of the addon. They check every argument: a wrong type, size or range, or an output that
 * overlaps an input, throws a TypeError or a RangeError before anything is read.
 */
export interface NativeSiv {
  /** False where the processor lacks the instructions; every other function then throws. */
  readonly sivAvailable: boolean;
  sivSealInto(
    key: Uint8Array,
    nonce: Uint8Array,
    plaintext: Uint8Array,
    output: Uint8Array,
    associated?: Uint8Array,
  ): void;
  sivOpenInto(key: Uint8Array, sealed: Uint8Array, output: Uint8Array, associated?: Uint8Array): boolean;
  /** A `SIV_FAULT`; `outcome` has its position, the length of the batch and the number of its sections. */
  sivMeasureBatch(bytes: Uint8Array, offset: number, length: number, outcome: Outcome): number;
  /** 12 bytes of `nonces` and 28 bytes of growth for each section. */
  sivSealBatch(
    key: Uint8Array,
    nonces: Uint8Array,
    bytes: Uint8Array,
    offset: number,
    length: number,
    output: Uint8Array,
    outcome: Outcome,
  ): number;
  sivOpenBatch(
    key: Uint8Array,
    bytes: Uint8Array,
    offset: number,
    length: number,
    output: Uint8Array,
    outcome: Outcome,
  ): number;
}

const FUNCTIONS = ["sivSealInto", "sivOpenInto", "sivMeasureBatch", "sivSealBatch", "sivOpenBatch"];

/** Whether an addon has these functions; an older build may lack some. */
export function isNativeSiv(addon: object): addon is NativeSiv {
  const exports: Partial<Record<string, unknown>> = { ...addon };
  return FUNCTIONS.every((name) => typeof exports[name] === "function") && typeof exports["sivAvailable"] === "boolean";
}

export function nativeSivBackend(native: NativeSiv): SivBackend {
  return {
    name: "native",
    sealInto: (key, nonce, plaintext, output, associated) => {
      native.sivSealInto(key, nonce, plaintext, output, associated);
    },
    openInto: (key, sealed, output, associated) => native.sivOpenInto(key, sealed, output, associated),
  };
}
