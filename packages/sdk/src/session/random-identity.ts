/** Random bytes fit for secrets. */
export function randomBytes(length: number): Uint8Array {
  return globalThis.crypto.getRandomValues(new Uint8Array(length));
}

/** A random 128-bit number other than 0, its bytes those of a UUID v4 in UUID order. */
export function randomId(): bigint {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const view = new DataView(bytes.buffer);
  return view.getBigUint64(0, true) | (view.getBigUint64(8, true) << 64n);
}
