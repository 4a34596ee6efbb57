import type { HashStream } from "./hasher.js";
import type { NativeHash } from "./native-hash.js";

/** A stream whose state is plain bytes here and is advanced by the addon. Nothing needs to be freed. */
export class NativeHashStream implements HashStream {
  readonly #native: NativeHash;
  readonly #state: Uint8Array;
  #length = 0;

  constructor(native: NativeHash) {
    this.#native = native;
    this.#state = new Uint8Array(native.xxh3StreamSize);
    native.xxh3StreamStart(this.#state);
  }

  get length(): number {
    return this.#length;
  }

  reset(): this {
    this.#native.xxh3StreamStart(this.#state);
    this.#length = 0;
    return this;
  }

  update(bytes: Uint8Array): this {
    this.#native.xxh3StreamUpdate(this.#state, bytes);
    this.#length += bytes.length;
    return this;
  }

  digestInto(out: Uint32Array): void {
    this.#native.xxh3StreamDigest(this.#state, out);
  }

  digest(): bigint {
    const out = new Uint32Array(2);
    this.digestInto(out);
    return BigInt(out[0] ?? 0) | (BigInt(out[1] ?? 0) << 32n);
  }
}
