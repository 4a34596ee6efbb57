export * from "./classes.js";
export { IggyError, type ErrorDetails } from "./iggy-error.js";
export { MetadataHistoryError } from "./metadata-history.js";
export { ProducerSendFailedError } from "./producer-send-failed.js";
export { ReadError, UndecodableMessagesError, type UnreadableRecord } from "./reading.js";
export { ErrorCode } from "@iggy/protocol";
