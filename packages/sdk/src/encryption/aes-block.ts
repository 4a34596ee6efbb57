/*
 * AES-256 of single blocks, encryption only. WebCrypto offers no mode that counts the way GCM-SIV does. Table lookups
 * depend on key and data, as in other ciphers written in JavaScript: who measures caches on the same machine may learn
 * from them.
 */

const rounds = 14;
const keyWords = 8;

const sbox = new Uint8Array(256);
/** S-box and column mix of the first byte of a column; those of the other bytes are rotations of it. */
const mix = new Uint32Array(256);

const double = (value: number): number => ((value << 1) ^ ((value >> 7) * 0x11b)) & 0xff;

for (let p = 1, q = 1, step = 0; step < 255; step++) {
  // p runs through all powers of 3, q through their inverses.
  p = p ^ double(p);
  q ^= q << 1;
  q ^= q << 2;
  q ^= q << 4;
  q &= 0xff;
  if ((q & 0x80) !== 0) q ^= 0x09;
  q &= 0xff;
  sbox[p] = q ^ rotate8(q, 1) ^ rotate8(q, 2) ^ rotate8(q, 3) ^ rotate8(q, 4) ^ 0x63;
}
sbox[0] = 0x63;
for (let x = 0; x < 256; x++) {
  const s = sbox[x] ?? 0;
  mix[x] = ((double(s) << 24) | (s << 16) | (s << 8) | (double(s) ^ s)) >>> 0;
}

function rotate8(value: number, by: number): number {
  return ((value << by) | (value >> (8 - by))) & 0xff;
}

const subWord = (word: number): number =>
  ((sbox[word >>> 24] ?? 0) << 24) |
  ((sbox[(word >>> 16) & 0xff] ?? 0) << 16) |
  ((sbox[(word >>> 8) & 0xff] ?? 0) << 8) |
  (sbox[word & 0xff] ?? 0);

/** A block: four words, each the big-endian form of four bytes. */
export type Block = Uint32Array;

export const newBlock = (): Block => new Uint32Array(4);

export function readBlock(block: Block, bytes: Uint8Array, at = 0): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, 16);
  for (let i = 0; i < 4; i++) block[i] = view.getUint32(4 * i);
}

export function writeBlock(block: Block, bytes: Uint8Array, at = 0): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset + at, 16);
  for (let i = 0; i < 4; i++) view.setUint32(4 * i, block[i] ?? 0);
}

/** The reverse order of the bytes of a word. */
export const swapped = (word: number): number =>
  ((word << 24) | ((word << 8) & 0xff_0000) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;

/** A key of 32 bytes, made ready. */
export class AesBlockCipher {
  readonly #keys = new Uint32Array(4 * (rounds + 1));

  constructor(key: Uint8Array) {
    const keys = this.#keys;
    const view = new DataView(key.buffer, key.byteOffset, 4 * keyWords);
    for (let i = 0; i < keyWords; i++) keys[i] = view.getUint32(4 * i);
    for (let i = keyWords, round = 1; i < keys.length; i++) {
      let word = keys[i - 1] ?? 0;
      if (i % keyWords === 0) {
        word = subWord((word << 8) | (word >>> 24)) ^ (round << 24);
        round = double(round);
      } else if (i % keyWords === 4) word = subWord(word);
      keys[i] = (keys[i - keyWords] ?? 0) ^ word;
    }
  }

  /** `to` may be `from`. */
  encrypt(from: Block, to: Block): void {
    const keys = this.#keys;
    let a = (from[0] ?? 0) ^ (keys[0] ?? 0);
    let b = (from[1] ?? 0) ^ (keys[1] ?? 0);
    let c = (from[2] ?? 0) ^ (keys[2] ?? 0);
    let d = (from[3] ?? 0) ^ (keys[3] ?? 0);
    let k = 4;
    for (let round = 1; round < rounds; round++, k += 4) {
      const e = mixed(a, b, c, d) ^ (keys[k] ?? 0);
      const f = mixed(b, c, d, a) ^ (keys[k + 1] ?? 0);
      const g = mixed(c, d, a, b) ^ (keys[k + 2] ?? 0);
      d = mixed(d, a, b, c) ^ (keys[k + 3] ?? 0);
      a = e;
      b = f;
      c = g;
    }
    to[0] = last(a, b, c, d) ^ (keys[k] ?? 0);
    to[1] = last(b, c, d, a) ^ (keys[k + 1] ?? 0);
    to[2] = last(c, d, a, b) ^ (keys[k + 2] ?? 0);
    to[3] = last(d, a, b, c) ^ (keys[k + 3] ?? 0);
  }
}

/** One column of a round: bytes of four columns, substituted, shifted and mixed. */
function mixed(a: number, b: number, c: number, d: number): number {
  const t1 = mix[(b >>> 16) & 0xff] ?? 0;
  const t2 = mix[(c >>> 8) & 0xff] ?? 0;
  const t3 = mix[d & 0xff] ?? 0;
  return (mix[a >>> 24] ?? 0) ^ ((t1 >>> 8) | (t1 << 24)) ^ ((t2 >>> 16) | (t2 << 16)) ^ ((t3 >>> 24) | (t3 << 8));
}

/** The same in the last round, which mixes nothing. */
const last = (a: number, b: number, c: number, d: number): number =>
  ((sbox[a >>> 24] ?? 0) << 24) |
  ((sbox[(b >>> 16) & 0xff] ?? 0) << 16) |
  ((sbox[(c >>> 8) & 0xff] ?? 0) << 8) |
  (sbox[d & 0xff] ?? 0);
