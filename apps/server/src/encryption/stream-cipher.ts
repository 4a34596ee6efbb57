export const NONCE_SIZE = 12;
export const TAG_SIZE = 16;

/**
 * AES-256-GCM-SIV (RFC 8452) under the key of one stream, without associated data. Targets have the exact size and never
 * overlap their source.
 */
export interface StreamCipher {
  /** Writes ciphertext and tag: 16 bytes more than the plaintext. */
  seal(nonce: Uint8Array, plaintext: Uint8Array, target: Uint8Array): void;
  /** Writes the plaintext of ciphertext and tag; false, with anything in the target, when the tag is not theirs. */
  open(nonce: Uint8Array, sealed: Uint8Array, target: Uint8Array): boolean;
}

/** Makes the cipher of a 32-byte key, of which it keeps a copy. */
export type StreamCipherFactory = (key: Uint8Array) => StreamCipher;
