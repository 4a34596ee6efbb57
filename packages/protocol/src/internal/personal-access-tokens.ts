import { type Codec, exactly, name, struct, strictBool, u32, u64, type ValueOf, WireError } from "../codec/index.js";

const hashPattern = /^[0-9a-f]{64}$/;

/** 64 bytes: a BLAKE3-256 hash in lower-case hex. */
const tokenHash: Codec<string> = {
  type: "64 hex digits",
  minSize: 64,
  size: () => 64,
  write: (w, value) => {
    if (!hashPattern.test(value)) throw new WireError("Validation", "a token hash is 64 lower-case hex digits");
    w.text(value);
  },
  read: (r) => {
    const at = r.offset;
    const value = r.text(64);
    if (!hashPattern.test(value)) throw new WireError("Validation", "a token hash is 64 lower-case hex digits", at);
    return value;
  },
  sample: (s) => Array.from(s.bytes(32), (byte) => byte.toString(16).padStart(2, "0")).join(""),
};

/**
 * A token as the log holds it: its owner and its hash, never its text.
 *
 *   user_id u32 · name · expiry u64, a duration in µs · token_hash 64 hex digits
 */
export const preparedCreatePersonalAccessToken = exactly(
  struct("prepared CreatePersonalAccessToken", { userId: u32, name, expiry: u64, tokenHash }),
);
export type PreparedCreatePersonalAccessToken = ValueOf<typeof preparedCreatePersonalAccessToken>;

/** user_id u32 · name · only_if_expired u8 */
export const preparedDeletePersonalAccessToken = exactly(
  struct("prepared DeletePersonalAccessToken", { userId: u32, name, onlyIfExpired: strictBool }),
);
export type PreparedDeletePersonalAccessToken = ValueOf<typeof preparedDeletePersonalAccessToken>;
