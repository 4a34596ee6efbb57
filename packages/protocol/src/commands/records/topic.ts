import { name, struct, u32, u64, type ValueOf } from "../../codec/index.js";
import { optionsPrefixed } from "../../primitives/index.js";

/**
 * A topic as replies show it. Expiry, compression and size cap are options; `options` and `derivedOptions` together
 * hold a value for every stored key of the catalogue.
 *
 *    0  id               u32
 *    4  created_at       u64
 *   12  partitions_count u32
 *   16  size_bytes       u64
 *   24  messages_count   u64
 *   32  name             name
 *    …  options          [u32 length][block]
 *    …  derived_options  [u32 length][block]
 */
export const topic = struct("topic", {
  id: u32,
  createdAt: u64,
  partitionsCount: u32,
  sizeBytes: u64,
  messagesCount: u64,
  name,
  options: optionsPrefixed,
  derivedOptions: optionsPrefixed,
});
export type Topic = ValueOf<typeof topic>;
