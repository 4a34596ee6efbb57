import {
  base64,
  headerEntryShape,
  list,
  object,
  partitionContextShape,
  type Shape,
  u128,
  u32,
  u64,
} from "../json/index.js";

/** User headers of a polled message: entries, or base64 of what are no headers. */
const userHeaders: Shape<unknown> = {
  schema: { anyOf: [list(headerEntryShape).schema, base64().schema] },
  read: (json) => (typeof json === "string" ? base64().read(json) : list(headerEntryShape).read(json)),
};

/** Polled messages as `polledMessagesText` writes them. */
export const polledMessagesShape = object({
  context: partitionContextShape,
  partition_id: u32,
  current_offset: u64,
  count: u32,
  messages: list(
    object({
      header: object({
        checksum: u64,
        id: u128,
        offset: u64,
        timestamp: u64,
        origin_timestamp: u64,
        user_headers_length: u32,
        payload_length: u32,
        reserved: u64,
      }),
      payload: base64(),
      user_headers: userHeaders,
    }),
  ),
});
