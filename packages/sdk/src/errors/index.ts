export * from "./classes.js";
export { errorOf } from "./from-code.js";
export { IggyError, type ErrorDetails } from "./iggy-error.js";
export { MetadataHistoryError } from "./metadata-history.js";
export { ProducerSendFailedError } from "./producer-send-failed.js";
export { ReadError, UndecodableMessagesError, type UndecodedReply, type UnreadableRecord } from "./reading.js";
