/** Below this the set-up of word access costs more than it saves. */
const WORDS_FROM_BYTES = 32;

const keyBytes = new Uint8Array(4);
const keyWord = new Int32Array(keyBytes.buffer);

/**
 * Masks or unmasks `bytes` in place (RFC 6455, 5.3). `key` holds four bytes; `phase` is the place of the first byte within
 * the payload of its frame, for payloads that arrive in parts.
 */
export function unmask(bytes: Uint8Array, key: Uint8Array, phase = 0): void {
  const { length } = bytes;
  let at = 0;
  if (length >= WORDS_FROM_BYTES) {
    const lead = -bytes.byteOffset & 3;
    for (; at < lead; at++) bytes[at] = (bytes[at] ?? 0) ^ (key[(phase + at) & 3] ?? 0);
    for (let i = 0; i < 4; i++) keyBytes[i] = key[(phase + lead + i) & 3] ?? 0;
    const word = keyWord[0] ?? 0;
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + lead, (length - lead) >> 2);
    const count = words.length;
    for (let i = 0; i < count; i++) words[i] = (words[i] ?? 0) ^ word;
    at += count << 2;
  }
  for (; at < length; at++) bytes[at] = (bytes[at] ?? 0) ^ (key[(phase + at) & 3] ?? 0);
}

/** Writes `bytes` masked to `target` at `offset`; `bytes` stays as it is. */
export function maskInto(target: Uint8Array, offset: number, bytes: Uint8Array, key: Uint8Array): void {
  target.set(bytes, offset);
  unmask(target.subarray(offset, offset + bytes.length), key);
}
