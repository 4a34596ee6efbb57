import { codeOf, struct, u64, u8, type ValueOf } from "../codec/index.js";
import { PollingKind } from "../enums/index.js";

/**
 * Where a read starts: at an offset, at a timestamp in µs, at the first or last messages, or behind the stored offset.
 * The value matters for `offset` and `timestamp` only; other kinds carry what the sender put there.
 *
 * `[kind u8][value u64]`
 */
export const pollingStrategy = struct("polling strategy", {
  kind: codeOf("polling kind", u8, PollingKind),
  value: u64,
});
export type PollingStrategy = ValueOf<typeof pollingStrategy>;
