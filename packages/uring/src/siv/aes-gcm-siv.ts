import { javascriptSiv } from "./javascript-siv.js";
import { type NativeSiv, nativeSivBackend } from "./native-siv.js";
import { SIV_KEY_SIZE, SIV_OVERHEAD, type SivBackend } from "./siv-backend.js";

/** The addon where it is there and the processor has the instructions, else JavaScript. */
export function sivBackend(native: NativeSiv | undefined): SivBackend {
  return native?.sivAvailable === true ? nativeSivBackend(native) : javascriptSiv;
}

/**
 * AES-256-GCM-SIV (RFC 8452) under one key. Sealed bytes are `nonce 12 ++ ciphertext ++ tag 16`. A nonce that comes twice
 * tells only whether the same plaintext was sealed twice; still, nonces are meant to be random.
 *
 * The key is copied. `destroy` wipes the copy; nothing can be sealed or opened afterwards.
 */
export class AesGcmSiv {
  readonly #backend: SivBackend;
  // Its own ArrayBuffer: small arrays else lie in the JavaScript heap, which moves them and leaves copies behind.
  readonly #key = new Uint8Array(new ArrayBuffer(SIV_KEY_SIZE));
  #isDestroyed = false;

  constructor(key: Uint8Array, backend: SivBackend) {
    if (key.length !== SIV_KEY_SIZE) {
      throw new RangeError(`an AES-256-GCM-SIV key has ${String(SIV_KEY_SIZE)} bytes, got ${String(key.length)}`);
    }
    this.#key.set(key);
    this.#backend = backend;
  }

  get backend(): SivBackend["name"] {
    return this.#backend.name;
  }

  /** Throws a RangeError for a nonce that has not 12 bytes. */
  seal(nonce: Uint8Array, plaintext: Uint8Array, associated?: Uint8Array): Uint8Array {
    const output = new Uint8Array(plaintext.length + SIV_OVERHEAD);
    this.sealInto(nonce, plaintext, output, associated);
    return output;
  }

  /** The plaintext; undefined for bytes that this key did not seal with this associated data. */
  open(sealed: Uint8Array, associated?: Uint8Array): Uint8Array | undefined {
    if (sealed.length < SIV_OVERHEAD) return undefined;
    const output = new Uint8Array(sealed.length - SIV_OVERHEAD);
    return this.openInto(sealed, output, associated) ? output : undefined;
  }

  /**
   * Seals into `output`, which is 28 bytes longer than the plaintext and overlaps none of the inputs; else a RangeError.
   */
  sealInto(nonce: Uint8Array, plaintext: Uint8Array, output: Uint8Array, associated?: Uint8Array): void {
    this.#backend.sealInto(this.#usableKey(), nonce, plaintext, output, associated);
  }

  /**
   * Opens into `output`, which is 28 bytes shorter than `sealed` and overlaps none of the inputs; else a RangeError. False
   * for bytes that this key did not seal with this associated data; the output is then all zeros.
   */
  openInto(sealed: Uint8Array, output: Uint8Array, associated?: Uint8Array): boolean {
    if (sealed.length < SIV_OVERHEAD) {
      output.fill(0);
      return false;
    }
    return this.#backend.openInto(this.#usableKey(), sealed, output, associated);
  }

  /** Wipes the key. */
  destroy(): void {
    this.#key.fill(0);
    this.#isDestroyed = true;
  }

  #usableKey(): Uint8Array {
    if (this.#isDestroyed) throw new Error("this AES-256-GCM-SIV key was wiped: make a new AesGcmSiv");
    return this.#key;
  }
}
