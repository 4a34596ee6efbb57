export const SIV_KEY_SIZE = 32;
export const SIV_NONCE_SIZE = 12;
export const SIV_TAG_SIZE = 16;
/** What sealing adds: the nonce in front, the tag behind. */
export const SIV_OVERHEAD = SIV_NONCE_SIZE + SIV_TAG_SIZE;

/**
 * An implementation of AES-256-GCM-SIV. A key or nonce of another size, an output that has not the size of the result and
 * one that overlaps an input throw a RangeError before anything is written.
 */
export interface SivBackend {
  readonly name: "native" | "javascript";
  /** `output` gets nonce, ciphertext and tag: 28 bytes more than the plaintext. */
  sealInto(
    key: Uint8Array,
    nonce: Uint8Array,
    plaintext: Uint8Array,
    output: Uint8Array,
    associated: Uint8Array | undefined,
  ): void;
  /** `sealed` has at least 28 bytes. False, and an output of zeros, for bytes that this key did not seal with this associated data. */
  openInto(key: Uint8Array, sealed: Uint8Array, output: Uint8Array, associated: Uint8Array | undefined): boolean;
}
