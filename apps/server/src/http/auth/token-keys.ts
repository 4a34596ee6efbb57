import { randomBytes } from "node:crypto";
import type { ServerConfig } from "../../config/index.js";

/** Secrets that access tokens are signed and verified with. */
export interface TokenKeys {
  readonly signing: Uint8Array;
  readonly verifying: Uint8Array;
}

const RANDOM_KEY_BYTES = 64;

/** The configured secrets, one of which serves for both; without any a key for this run. */
export function tokenKeys({ encodingSecret, decodingSecret, useBase64Secret }: ServerConfig["http"]["jwt"]): TokenKeys {
  const encoding = encodingSecret.reveal();
  const decoding = decodingSecret.reveal();
  if (encoding === "" && decoding === "") {
    const key = randomBytes(RANDOM_KEY_BYTES);
    return { signing: key, verifying: key };
  }
  const bytesOf = (secret: string): Uint8Array => Buffer.from(secret, useBase64Secret ? "base64" : "utf8");
  return { signing: bytesOf(encoding || decoding), verifying: bytesOf(decoding || encoding) };
}
