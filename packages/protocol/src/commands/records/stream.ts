import { name, struct, u32, u64, type ValueOf } from "../../codec/index.js";
import { optionsPrefixed } from "../../primitives/index.js";

/**
 * A stream as replies show it. `options` are the keys that its creator set, `derivedOptions` those that the server
 * filled or computes; a key is in at most one of them. Timestamps are µs since the epoch.
 *
 *    0  id              u32
 *    4  created_at      u64
 *   12  topics_count    u32
 *   16  size_bytes      u64
 *   24  messages_count  u64
 *   32  name            name
 *    …  options         [u32 length][block]
 *    …  derived_options [u32 length][block]
 */
export const stream = struct("stream", {
  id: u32,
  createdAt: u64,
  topicsCount: u32,
  sizeBytes: u64,
  messagesCount: u64,
  name,
  options: optionsPrefixed,
  derivedOptions: optionsPrefixed,
});
export type Stream = ValueOf<typeof stream>;
