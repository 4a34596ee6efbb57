export { Encryption, type EncryptionDeps, type StreamCatalog } from "./encryption.js";
export { portableCipher } from "./portable-cipher.js";
export { NONCE_SIZE, type StreamCipher, type StreamCipherFactory, TAG_SIZE } from "./stream-cipher.js";
