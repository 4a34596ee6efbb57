import { createHash, hkdfSync } from "node:crypto";
import type { Secret } from "./secret.js";

const KEY_BYTES = 32;
const FINGERPRINT_BYTES = 8;

/** Whether a text is the canonical standard base64 of exactly 32 bytes. */
export function isServerKey(key: Secret): boolean {
  const bytes = Buffer.from(key.reveal(), "base64");
  return bytes.length === KEY_BYTES && bytes.toString("base64") === key.reveal();
}

/**
 * The fingerprint by which streams name a server key: 16 hex digits of the wrapping key that is derived from it. The
 * same derivation as that of the key ring, which works in promises.
 */
export function serverKeyFingerprint(key: Secret): string {
  const wrapping = hkdfSync("sha256", Buffer.from(key.reveal(), "base64"), "", "iggy/stream-key-wrap/v1", KEY_BYTES);
  return createHash("sha256")
    .update("iggy/stream-kek-fingerprint/v1")
    .update(Buffer.from(wrapping))
    .digest("hex")
    .slice(0, 2 * FINGERPRINT_BYTES);
}
