import type { Secret } from "./secret.js";

/** Whether a text is the canonical standard base64 of exactly 32 bytes. */
export function isServerKey(key: Secret): boolean {
  const bytes = Buffer.from(key.reveal(), "base64");
  return bytes.length === 32 && bytes.toString("base64") === key.reveal();
}
