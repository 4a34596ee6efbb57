import { ENCRYPTION_KEY_SIZE, ErrorCode, IggyError as ProtocolError, parseEncryptionKey } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";

/** The 32 bytes of a key, or of its canonical base64; `InvalidEncryptionKey` (70) for anything else. A copy. */
export function keyBytes(key: Uint8Array | string): Uint8Array {
  if (typeof key === "string") {
    try {
      return parseEncryptionKey(key);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new ValidationError(error.code, error.message);
    }
  }
  // Neither the key nor what was given in its place is shown.
  if (!(key instanceof Uint8Array) || key.length !== ENCRYPTION_KEY_SIZE) {
    throw new ValidationError(
      ErrorCode.InvalidEncryptionKey,
      `an encryption key is ${String(ENCRYPTION_KEY_SIZE)} bytes, or their base64`,
    );
  }
  return new Uint8Array(key);
}
