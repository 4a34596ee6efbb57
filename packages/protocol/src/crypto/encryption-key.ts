import { ErrorCode, IggyError } from "../errors/index.js";
import { decodeBase64 } from "../text/base64.js";

export const ENCRYPTION_KEY_SIZE = 32;
/** Keys of earlier times that a server may still hold. */
export const MAX_PREVIOUS_KEYS = 2;

/** Bytes of a key given as canonical base64 of 32 bytes; `InvalidEncryptionKey` (70) for anything else. */
export function parseEncryptionKey(text: string): Uint8Array {
  const key = decodeBase64(text);
  // The text is a secret: it stays out of the message.
  if (key === undefined) throw new IggyError(ErrorCode.InvalidEncryptionKey, "an encryption key is not base64");
  checkKeySize(key);
  return key;
}

export function checkKeySize(key: Uint8Array): void {
  if (key.length !== ENCRYPTION_KEY_SIZE) {
    throw new IggyError(
      ErrorCode.InvalidEncryptionKey,
      `an encryption key has ${String(ENCRYPTION_KEY_SIZE)} bytes, got ${String(key.length)}`,
    );
  }
}

/** Encryption settings of a server, as configured. */
export interface EncryptionSettings {
  readonly enabled: boolean;
  /** Base64, empty for none. */
  readonly key: string;
  readonly previousKeys: readonly string[];
}

/** Keys that a server wraps stream keys with: the current one, then previous ones. Empty without encryption. */
export function parseKeyRing(settings: EncryptionSettings): readonly Uint8Array[] {
  const { enabled, key, previousKeys } = settings;
  if (key === "") {
    if (enabled) throw invalid("encryption is enabled without a key");
    if (previousKeys.length > 0) throw invalid("there are previous keys without a current one");
    return [];
  }
  if (previousKeys.length > MAX_PREVIOUS_KEYS) throw invalid(`at most ${String(MAX_PREVIOUS_KEYS)} previous keys`);
  const keys = [key, ...previousKeys].map(parseEncryptionKey);
  if (new Set(keys.map(String)).size !== keys.length) throw invalid("a key is named twice");
  return keys;
}

const invalid = (message: string): IggyError => new IggyError(ErrorCode.InvalidEncryptionKey, message);
