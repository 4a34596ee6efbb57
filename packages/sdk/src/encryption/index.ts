export { Aes256GcmEncryptor } from "./aes-256-gcm.js";
export { Aes256GcmSivEncryptor } from "./aes-256-gcm-siv.js";
export type { Encryptor } from "./encryptor.js";
export { checkedEncryptor, decryptParts, encryptParts, type MessageParts } from "./sealing.js";
