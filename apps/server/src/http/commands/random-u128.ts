import { randomBytes } from "node:crypto";

/** A random number other than 0, of 128 bits. */
export function randomU128(): bigint {
  for (;;) {
    const bytes = randomBytes(16);
    const value = (bytes.readBigUInt64LE(8) << 64n) | bytes.readBigUInt64LE(0);
    if (value !== 0n) return value;
  }
}
