/**
 * AES-256-GCM-SIV (RFC 8452) of whole batches, under the key of one stream and without associated data. A payload, and
 * user headers where a message has some, become
 *
 *    nonce 12, random · ciphertext · tag 16
 *
 * Ids, offsets, times and the producer stay in clear. Lengths and all checksums are made to fit what results; those of
 * the batch that is given are not looked at. It is never changed.
 */
export interface BatchCipher {
  /** In memory of its own; undefined for a batch whose layout is not sound. */
  seal(batch: Uint8Array): Uint8Array | undefined;
  /** The same; undefined also for a batch with a section that this key did not seal. */
  open(batch: Uint8Array): Uint8Array | undefined;
}

/** Makes the cipher of a 32-byte key, of which it keeps a copy. */
export type BatchCipherFactory = (key: Uint8Array) => BatchCipher;

/** Bytes that sealing adds to a section. */
export const SECTION_OVERHEAD = 28;
