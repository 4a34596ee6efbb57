/** Bytes that look random and repeat for a seed (mulberry32). */
export function randomBytes(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    bytes[i] = (word ^ (word >>> 14)) & 0xff;
  }
  return bytes;
}
