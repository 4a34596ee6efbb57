/**
 * 64-bit arithmetic in 32-bit halves. Functions leave their result in `low` and `high`, so that no step allocates; both
 * are unsigned. A caller copies them before the next step.
 */
export let low = 0;
export let high = 0;

const TWO_32 = 0x1_0000_0000;

export function add(al: number, ah: number, bl: number, bh: number): void {
  const sum = al + bl;
  low = sum >>> 0;
  high = (ah + bh + (sum > 0xffffffff ? 1 : 0)) >>> 0;
}

/** Upper half of a 32 by 32 bit product whose lower half is `productLow`. */
export function multiplyHigh(a: number, b: number, productLow: number): number {
  // The double product is off by at most 2^11 here, far below the 2^31 that rounding forgives.
  return Math.round((a * b - productLow) / TWO_32);
}

/** Product modulo 2^64. */
export function multiply(al: number, ah: number, bl: number, bh: number): void {
  const productLow = Math.imul(al, bl) >>> 0;
  high = (multiplyHigh(al, bl, productLow) + Math.imul(al, bh) + Math.imul(ah, bl)) >>> 0;
  low = productLow;
}

/** The 128-bit product of two words, its halves combined by exclusive or. */
export function multiplyFold(al: number, ah: number, bl: number, bh: number): void {
  const ll = Math.imul(al, bl) >>> 0;
  const lh = Math.imul(al, bh) >>> 0;
  const hl = Math.imul(ah, bl) >>> 0;
  const hh = Math.imul(ah, bh) >>> 0;
  const second = multiplyHigh(al, bl, ll) + lh + hl;
  const third = multiplyHigh(al, bh, lh) + multiplyHigh(ah, bl, hl) + hh + Math.floor(second / TWO_32);
  const fourth = multiplyHigh(ah, bh, hh) + Math.floor(third / TWO_32);
  low = (ll ^ third) >>> 0;
  high = (second ^ fourth) >>> 0;
}

/** `word ^ (word >> shift)` for a shift below 32. */
export function xorShift(l: number, h: number, shift: number): void {
  low = (l ^ ((l >>> shift) | (h << (32 - shift)))) >>> 0;
  high = (h ^ (h >>> shift)) >>> 0;
}

/** `word ^ (word >> shift)` for a shift from 32 to 63. */
export function xorShiftFar(l: number, h: number, shift: number): void {
  low = (l ^ (h >>> (shift - 32))) >>> 0;
  high = h >>> 0;
}

export function swapBytes(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}
