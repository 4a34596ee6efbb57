const PRIME_1 = 0x9e3779b1;
const PRIME_2 = 0x85ebca77;
const PRIME_3 = 0xc2b2ae3d;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
const round = (lane: number, word: number): number =>
  Math.imul(rotate((lane + Math.imul(word, PRIME_2)) | 0, 13), PRIME_1);

/** XXH32 of all bytes: an unsigned 32-bit number. */
export function xxh32(bytes: Uint8Array, seed = 0): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length;
  let at = 0;
  let hash = (seed + PRIME_5) | 0;
  if (length >= 16) {
    let a = (seed + PRIME_1 + PRIME_2) | 0;
    let b = (seed + PRIME_2) | 0;
    let c = seed | 0;
    let d = (seed - PRIME_1) | 0;
    for (; at + 16 <= length; at += 16) {
      a = round(a, view.getUint32(at, true));
      b = round(b, view.getUint32(at + 4, true));
      c = round(c, view.getUint32(at + 8, true));
      d = round(d, view.getUint32(at + 12, true));
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  }
  hash = (hash + length) | 0;
  for (; at + 4 <= length; at += 4) {
    hash = Math.imul(rotate((hash + Math.imul(view.getUint32(at, true), PRIME_3)) | 0, 17), PRIME_4);
  }
  for (; at < length; at++) {
    hash = Math.imul(rotate((hash + Math.imul(view.getUint8(at), PRIME_5)) | 0, 11), PRIME_1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}
