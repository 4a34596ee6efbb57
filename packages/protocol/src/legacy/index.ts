/**
 * Protocols before 0.12.2: the layouts that clients of 0.11.0 speak, those of the pre-releases between, and the framing
 * from before the 256-byte header. Nothing of 0.12.2 depends on this door.
 */
export { isLegacyBatchHeader, withoutProducer } from "./batch.js";
export { attachConsumerSession } from "./commands/attach-consumer-session.js";
export * from "./commands/changed-replies.js";
export { flushUnsavedBuffer } from "./commands/flush-unsaved-buffer.js";
export { getConsumerOffsetRouting } from "./commands/get-consumer-offset-routing.js";
export { getPollRouting } from "./commands/get-poll-routing.js";
export {
  legacyLoginRegisterWithPat,
  type LegacyLoginRegisterWithPatRequest,
} from "./commands/login-register-with-pat.js";
export { legacyLoginRegister, type LegacyLoginRegisterRequest } from "./commands/login-register.js";
export { legacyPollMessages, pollMessagesOnPrimary } from "./commands/poll-messages.js";
export { purgeStream, purgeTopic } from "./commands/purges.js";
export { updateStream, updateTopic, updateUser } from "./commands/updates.js";
export { waitForMessages, type WaitForMessagesRequest } from "./commands/wait-for-messages.js";
export * from "./earlier-framing.js";
export { isKnownToLegacy, legacyErrorCode } from "./error-codes.js";
export { decodeLegacyLogin, type LegacyLogin } from "./login.js";
export * from "./operations.js";
export * from "./records/cluster.js";
export { legacyPollReply, type LegacyPollReply, legacyPollRequest, type LegacyPollRequest } from "./records/polls.js";
export * from "./records/resources.js";
export { legacyCommandByCode, legacyCommands } from "./registry.js";
export { legacyRequestStamp } from "./request-stamp.js";
export * from "./versions.js";
