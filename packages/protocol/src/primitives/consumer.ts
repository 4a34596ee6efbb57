import { codeOf, struct, type ValueOf, u8 } from "../codec/index.js";
import { ConsumerKind } from "../enums/index.js";
import { identifier } from "./identifier.js";

/**
 * Who reads: a single consumer by its own id, a group of the addressed topic (membership is checked), or the offsets of
 * a group that is managed outside (never polled).
 *
 * `[kind u8][id identifier]`
 */
export const consumer = struct("consumer", {
  kind: codeOf("consumer kind", u8, ConsumerKind),
  id: identifier,
});
export type Consumer = ValueOf<typeof consumer>;
