import { readFileSync } from "node:fs";

/** A file of golden vectors: bytes that official encoders wrote and official decoders read. */
export function loadVectors<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`./vectors/${file}.json`, import.meta.url), "utf8")) as T;
}

export const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The byte rule of large cases: byte i = (i * 7 + 3) mod 256. */
export const ruleBytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i * 7 + 3) & 0xff);
