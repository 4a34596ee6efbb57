import { ErrorCode } from "@iggy/protocol";
import { errorOf, IggyError } from "../errors/index.js";
import type { Encryptor } from "./encryptor.js";

/** What encryption changes of a message. */
export interface MessageParts {
  readonly payload: Uint8Array;
  /** Encoded; a message without any stays without. */
  readonly userHeaders?: Uint8Array | undefined;
}

/** Payload and user headers, each encrypted on its own. `CannotEncryptData` (71) when the encryptor fails. */
export function encryptParts(encryptor: Encryptor, parts: MessageParts): Promise<MessageParts> {
  return changed(parts, (part) => encryptor.encrypt(part), ErrorCode.CannotEncryptData, "encryption failed");
}

/** The reverse. `CannotDecryptData` (72) when the encryptor fails. */
export function decryptParts(encryptor: Encryptor, parts: MessageParts): Promise<MessageParts> {
  return changed(
    parts,
    (part) => encryptor.decrypt(part),
    ErrorCode.CannotDecryptData,
    "decryption failed: wrong key, damaged data, or a message that was not encrypted",
  );
}

async function changed(
  { payload, userHeaders }: MessageParts,
  change: (part: Uint8Array) => Uint8Array | Promise<Uint8Array>,
  code: number,
  what: string,
): Promise<MessageParts> {
  try {
    const [newPayload, newHeaders] = await Promise.all([
      change(payload),
      userHeaders === undefined || userHeaders.length === 0 ? undefined : change(userHeaders),
    ]);
    return { payload: newPayload, userHeaders: newHeaders };
  } catch (cause) {
    throw IggyError.is(cause, code) ? cause : errorOf(code, what, { cause });
  }
}

/** Checks an encryptor of the options. */
export function checkedEncryptor(argument: string, encryptor: Encryptor | undefined): Encryptor | undefined {
  if (encryptor === undefined) return undefined;
  if (typeof encryptor.encrypt === "function" && typeof encryptor.decrypt === "function") return encryptor;
  throw new TypeError(`${argument} takes an object with the functions encrypt and decrypt`);
}
