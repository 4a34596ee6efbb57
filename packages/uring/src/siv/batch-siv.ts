import { type Outcome, OUTCOME_SIZE } from "../hash/index.js";
import { type NativeSiv, SIV_FAULT } from "./native-siv.js";
import { SIV_KEY_SIZE, SIV_NONCE_SIZE, SIV_OVERHEAD } from "./siv-backend.js";

/** Memory of that many bytes; it may hold old ones. */
export type Allocate = (size: number) => Uint8Array;
/** Fills bytes with values that can't be foretold; `crypto.randomFillSync` does. */
export type FillRandom = (bytes: Uint8Array) => void;

/**
 * Seals and opens whole message batches, one native call each: every payload, and the user headers where a message has
 * some, under a nonce of its own. Lengths, frame checksums and the batch checksum are made to fit; all else of the
 * headers stays. The checksums of the input are not looked at.
 *
 * Only with the addon. `AesGcmSiv` does the same section by section, anywhere.
 */
export class NativeBatchSiv {
  readonly #native: NativeSiv;
  readonly #key = new Uint8Array(new ArrayBuffer(SIV_KEY_SIZE));
  readonly #outcome: Outcome = new Float64Array(OUTCOME_SIZE);
  #isDestroyed = false;

  /** `native.sivAvailable` must be true. Throws a RangeError for a key that has not 32 bytes. */
  constructor(native: NativeSiv, key: Uint8Array) {
    if (key.length !== SIV_KEY_SIZE) {
      throw new RangeError(`an AES-256-GCM-SIV key has ${String(SIV_KEY_SIZE)} bytes, got ${String(key.length)}`);
    }
    this.#native = native;
    this.#key.set(key);
  }

  /** The batch at the start of `batch`, sealed; undefined when its layout is not sound. */
  seal(batch: Uint8Array, fillRandom: FillRandom, allocate: Allocate = zeroed): Uint8Array | undefined {
    const sections = this.#measure(batch);
    if (sections === undefined) return undefined;
    const nonces = new Uint8Array(SIV_NONCE_SIZE * sections);
    fillRandom(nonces);
    const output = allocate(this.#length + SIV_OVERHEAD * sections);
    const fault = this.#native.sivSealBatch(this.#usableKey(), nonces, batch, 0, this.#length, output, this.#outcome);
    return fault === SIV_FAULT.none ? output : undefined;
  }

  /** The batch at the start of `batch`, opened; undefined when its layout is not sound or this key did not seal it. */
  open(batch: Uint8Array, allocate: Allocate = zeroed): Uint8Array | undefined {
    const sections = this.#measure(batch);
    if (sections === undefined) return undefined;
    const size = this.#length - SIV_OVERHEAD * sections;
    // Too short for its sections to be sealed ones.
    if (size < 0) return undefined;
    const output = allocate(size);
    const fault = this.#native.sivOpenBatch(this.#usableKey(), batch, 0, this.#length, output, this.#outcome);
    return fault === SIV_FAULT.none ? output : undefined;
  }

  /** Wipes the key. */
  destroy(): void {
    this.#key.fill(0);
    this.#isDestroyed = true;
  }

  /** Number of sections, or undefined for an unsound layout. */
  #measure(batch: Uint8Array): number | undefined {
    const fault = this.#native.sivMeasureBatch(batch, 0, batch.length, this.#outcome);
    return fault === SIV_FAULT.none ? this.#outcome[2] : undefined;
  }

  get #length(): number {
    return this.#outcome[1] ?? 0;
  }

  #usableKey(): Uint8Array {
    if (this.#isDestroyed) throw new Error("this AES-256-GCM-SIV key was wiped: make a new NativeBatchSiv");
    return this.#key;
  }
}

const zeroed: Allocate = (size) => new Uint8Array(size);
