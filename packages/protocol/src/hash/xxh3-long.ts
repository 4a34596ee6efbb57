import { secretWords } from "./secret.js";

/** Input consumed between two scrambles: 16 stripes of 64 bytes, as many as the default secret has keys for. */
export const BLOCK_SIZE = 1024;
export const STRIPE_SIZE = 64;
const STRIPES_PER_BLOCK = BLOCK_SIZE / STRIPE_SIZE;
const TWO_32 = 0x1_0000_0000;

/** Low and high words of the eight 64-bit accumulators before any input. */
export const INITIAL_ACCUMULATORS = Uint32Array.of(
  ...[0xc2b2ae3d, 0, 0x85ebca87, 0x9e3779b1, 0x27d4eb4f, 0xc2b2ae3d, 0x9e3779f9, 0x165667b1],
  ...[0xc2b2ae63, 0x85ebca77, 0x85ebca77, 0, 0x165667c5, 0x27d4eb2f, 0x9e3779b1, 0],
);

/** Keys of stripe n of a block start at word 2n. */
const stripeKeys = secretWords(0, 48);
const lastStripeKeys = secretWords(121, 16);
const scrambleKeys = secretWords(128, 16);

/** Adds one 64-byte stripe. Portable form of the inner loop: exact 64-bit sums in pairs of 32-bit words. */
function accumulateStripe(acc: Uint32Array, view: DataView, at: number, keys: Uint32Array, firstKey: number): void {
  for (let i = 0; i < 16; i += 2) {
    const dataLow = view.getUint32(at + 4 * i, true);
    const dataHigh = view.getUint32(at + 4 * i + 4, true);
    const a = (dataLow ^ (keys[firstKey + i] ?? 0)) >>> 0;
    const b = (dataHigh ^ (keys[firstKey + i + 1] ?? 0)) >>> 0;
    const productLow = Math.imul(a, b) >>> 0;
    // Exact: the double product is off by less than 2^12, and the true quotient is an integer.
    const productHigh = Math.round((a * b - productLow) / TWO_32);
    const swapped = i ^ 2;
    const swappedLow = (acc[swapped] ?? 0) + dataLow;
    acc[swapped] = swappedLow;
    acc[swapped + 1] = (acc[swapped + 1] ?? 0) + dataHigh + (swappedLow > 0xffffffff ? 1 : 0);
    const ownLow = (acc[i] ?? 0) + productLow;
    acc[i] = ownLow;
    acc[i + 1] = (acc[i + 1] ?? 0) + productHigh + (ownLow > 0xffffffff ? 1 : 0);
  }
}

const PRIME_32_1 = 0x9e3779b1;

function scramble(acc: Uint32Array): void {
  for (let i = 0; i < 16; i += 2) {
    const accHigh = acc[i + 1] ?? 0;
    const a = ((acc[i] ?? 0) ^ (accHigh >>> 15) ^ (scrambleKeys[i] ?? 0)) >>> 0;
    const b = accHigh ^ (scrambleKeys[i + 1] ?? 0);
    const productLow = Math.imul(a, PRIME_32_1) >>> 0;
    acc[i] = productLow;
    acc[i + 1] = Math.round((a * PRIME_32_1 - productLow) / TWO_32) + Math.imul(b, PRIME_32_1);
  }
}

/** Consumes whole blocks. */
export function consumeBlocks(acc: Uint32Array, view: DataView, at: number, blocks: number): void {
  let stripe = at;
  for (let block = 0; block < blocks; block++) {
    for (let n = 0; n < STRIPES_PER_BLOCK; n++, stripe += STRIPE_SIZE) {
      accumulateStripe(acc, view, stripe, stripeKeys, 2 * n);
    }
    scramble(acc);
  }
}

/**
 * Consumes the last 1 to 1024 bytes of an input longer than 240. The 64 bytes before the end are read again as the last
 * stripe, so `view` must hold them even when `remaining` is smaller.
 */
export function consumeTail(acc: Uint32Array, view: DataView, at: number, remaining: number): void {
  const stripes = (remaining - 1) >>> 6;
  for (let n = 0; n < stripes; n++) accumulateStripe(acc, view, at + STRIPE_SIZE * n, stripeKeys, 2 * n);
  accumulateStripe(acc, view, at + remaining - STRIPE_SIZE, lastStripeKeys, 0);
}
