import { type Codec, prefixed, restBytes, struct, u32, type ValueOf } from "../../codec/index.js";
import { identifier, partitioning } from "../../primitives/index.js";

const fields = struct("send metadata", { streamId: identifier, topicId: identifier, partitioning, messagesCount: u32 });
const metadata = prefixed(fields);

type SendMetadata = ValueOf<typeof fields>;

/** A send whose batch is still bytes: a view that a message decoder reads without copying. */
export interface SendMessagesBody extends SendMetadata {
  readonly batch: Uint8Array;
}

/**
 *   metadata_length u32, exact size of the four fields behind it
 *   stream_id       identifier
 *   topic_id        identifier
 *   partitioning    partitioning
 *   messages_count  u32, equal to that of the batch
 *   batch           to end, one batch
 */
export const sendMessagesRequest: Codec<SendMessagesBody> = {
  type: "send",
  minSize: metadata.minSize,
  size: (value) => metadata.size(value) + value.batch.length,
  write: (w, value) => {
    metadata.write(w, value);
    restBytes.write(w, value.batch);
  },
  read: (r) => {
    // Field by field: a spread with another field behind it takes microseconds.
    const { streamId, topicId, partitioning, messagesCount } = metadata.read(r);
    return { streamId, topicId, partitioning, messagesCount, batch: restBytes.read(r) };
  },
  sample: (s) => ({ ...metadata.sample(s), batch: restBytes.sample(s) }),
  rows: () => [
    { path: "metadataLength", type: u32.type },
    ...(fields.rows?.() ?? []),
    { path: "batch", type: "batch to end" },
  ],
};
