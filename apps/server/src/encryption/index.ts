export { type BatchCipher, type BatchCipherFactory, SECTION_OVERHEAD } from "./batch-cipher.js";
export { Encryption, type EncryptionDeps, type OpenedKey, partitionCipher, type StreamCatalog } from "./encryption.js";
export { type NativeBatchCipher, nativeCipher } from "./native-cipher.js";
export { portableCipher, type SectionCipher, sectionwise } from "./section-cipher.js";
