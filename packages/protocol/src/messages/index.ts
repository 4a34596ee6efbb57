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
export { validateBatchLayout } from "./layout.js";
export * from "./limits.js";
export { advanceSequence, lastSequence, producerIdOf, type ProducerSection } from "./producer.js";
export { type BatchSlice, type BatchStamp, restampedChecksum, sliceBatch, stampBatch } from "./stamp.js";
export { verifyBatch } from "./verify.js";
