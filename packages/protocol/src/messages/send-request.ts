import { struct, u32, Writer } from "../codec/index.js";
import { type Identifier, identifier, type Partitioning, partitioning } from "../primitives/index.js";
import { type BatchOptions, checkedBatchSize, type MessageInput, writeBatch, zeroed } from "./encode.js";

/** Where a batch goes. */
export interface SendTarget {
  readonly streamId: Identifier;
  readonly topicId: Identifier;
  readonly partitioning: Partitioning;
}

/** What stands in front of the batch, behind its own length. */
export const sendMetadata = struct("send metadata", {
  streamId: identifier,
  topicId: identifier,
  partitioning,
  messagesCount: u32,
});

/**
 * Encodes the body of a SendMessages request in one buffer, batch included, so that nothing is copied twice. `headroom`
 * bytes are left free in front of it, for the frame header.
 *
 *   metadata_length u32 · stream_id · topic_id · partitioning · messages_count u32 · batch
 *
 * Errors as of `encodeBatch`.
 */
export function encodeSendRequest(
  target: SendTarget,
  messages: readonly MessageInput[],
  options: BatchOptions & { readonly headroom?: number } = {},
): Uint8Array {
  const headroom = options.headroom ?? 0;
  const fields = { ...target, messagesCount: messages.length };
  const metadataLength = sendMetadata.size(fields);
  const batchAt = headroom + 4 + metadataLength;
  const bytes = (options.allocate ?? zeroed)(batchAt + checkedBatchSize(messages));
  const writer = new Writer(bytes, headroom);
  writer.u32(metadataLength);
  sendMetadata.write(writer, fields);
  writeBatch(bytes, batchAt, messages, options);
  return bytes;
}
