import { type Codec, exactly, fixedBytes, list, struct, u32, u64, type ValueOf, WireError } from "../codec/index.js";

/** One wrapped stream key: version, origin, key-encryption-key fingerprint, nonce, ciphertext, key fingerprint. */
export const KEY_ENVELOPE_SIZE = 78;
/** A wrap set holds one envelope for each key-encryption key, three at most. */
export const MAX_KEY_ENVELOPES = 3;

const isWrapSetSize = (size: number): boolean =>
  size > 0 && size % KEY_ENVELOPE_SIZE === 0 && size <= KEY_ENVELOPE_SIZE * MAX_KEY_ENVELOPES;

const checkSize = (size: number, at?: number): void => {
  if (!isWrapSetSize(size)) throw new WireError("Validation", `${String(size)} bytes are no wrap set`, at);
};

/** `[length u8][envelopes]`; whether the envelopes open is for who holds the keys. */
const wrapSet: Codec<Uint8Array> = {
  type: "[u8 length][78 bytes × 1..3]",
  minSize: 1 + KEY_ENVELOPE_SIZE,
  size: (value) => 1 + value.length,
  write: (w, value) => {
    checkSize(value.length);
    w.u8(value.length);
    w.take(value);
  },
  read: (r) => {
    const at = r.offset;
    const size = r.u8();
    checkSize(size, at);
    return r.take(size);
  },
  sample: (s) => s.bytes(KEY_ENVELOPE_SIZE * (1 + s.integer(MAX_KEY_ENVELOPES - 1))),
};

/**
 * New wrap sets for stream keys. Applying skips an entry whose stream, creation op or key is no longer the same.
 *
 *   entries [u32 count]([stream_id u32][created_op u64][key_fingerprint 8 bytes][wrap set]) × count
 */
export const rewrapStreamKeys = exactly(
  struct("RewrapStreamKeys", {
    entries: list(
      u32,
      struct("rewrapped key", { streamId: u32, createdOp: u64, keyFingerprint: fixedBytes(8), wrapSet }),
    ),
  }),
);
export type RewrapStreamKeys = ValueOf<typeof rewrapStreamKeys>;
