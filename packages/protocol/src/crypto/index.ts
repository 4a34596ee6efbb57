export {
  ENCRYPTION_KEY_SIZE,
  type EncryptionSettings,
  MAX_PREVIOUS_KEYS,
  parseEncryptionKey,
  parseKeyRing,
} from "./encryption-key.js";
export { type EncryptedParts, MessageCipher, SEAL_OVERHEAD } from "./message-cipher.js";
export {
  deriveKeyEncryptionKey,
  FINGERPRINT_SIZE,
  type KeyEncryptionKey,
  type KeyEnvelope,
  KeyOrigin,
  type KeyOriginCode,
  openWrapSet,
  parseWrapSet,
  streamKeyFingerprint,
  wrapStreamKey,
} from "./stream-keys.js";
export type { RandomSource } from "./web-crypto.js";
