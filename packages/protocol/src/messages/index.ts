export { BatchView } from "./batch-view.js";
export { MessageCursor } from "./cursor.js";
export {
  batchSize,
  type BatchOptions,
  checkMessage,
  checkMessageSizes,
  encodeBatch,
  type MessageInput,
  writeBatch,
} from "./encode.js";
export { header, type HeaderField, type HeaderInput, type HeaderValue, MAX_HEADER_FIELD_SIZE } from "./header-value.js";
export { validateBatchLayout } from "./layout.js";
export * from "./limits.js";
export { partitionForKey } from "./partition-key.js";
export { advanceSequence, lastSequence, producerIdOf, type ProducerSection } from "./producer.js";
export { checkRecords, forEachMessage } from "./records.js";
export { rewriteBatch, type RewriteSection, rewrittenBatchSize } from "./rewrite.js";
export { encodeSendRequest, type SendTarget } from "./send-request.js";
export { messageSize, type PayloadInput, SendRequestBuilder } from "./send-request-builder.js";
export { type BatchSlice, type BatchStamp, restampedChecksum, sliceBatch, stampBatch } from "./stamp.js";
export {
  decodeUserHeaders,
  encodeHeaderFields,
  encodeUserHeaders,
  type HeaderInputs,
  type HeaderPair,
  tryDecodeUserHeaders,
  UserHeaders,
} from "./user-headers.js";
export { verifyBatch } from "./verify.js";
