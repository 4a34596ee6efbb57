export { AesGcmSiv, sivBackend } from "./aes-gcm-siv.js";
export { type Allocate, type FillRandom, NativeBatchSiv } from "./batch-siv.js";
export { javascriptSiv } from "./javascript-siv.js";
export { isNativeSiv, type NativeSiv, nativeSivBackend, SIV_FAULT } from "./native-siv.js";
export { SIV_KEY_SIZE, SIV_NONCE_SIZE, SIV_OVERHEAD, SIV_TAG_SIZE, type SivBackend } from "./siv-backend.js";
