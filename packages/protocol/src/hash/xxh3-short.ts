import { secret, secretWords } from "./secret.js";
import * as w from "./word64.js";

/** Longest input of the one-pass forms; anything longer goes through the accumulators. */
export const SHORT_MAX = 240;

const secretView = new DataView(secret.buffer);
const key = (at: number): number => secretView.getUint32(at, true);

/** Secret words that a length class combines once: `secret[at..at+8] ^ secret[at+8..at+16]`. */
const flip = (at: number): readonly [number, number] => [
  (key(at) ^ key(at + 8)) >>> 0,
  (key(at + 4) ^ key(at + 12)) >>> 0,
];
const [EMPTY_LOW, EMPTY_HIGH] = flip(56);
const TINY = (key(0) ^ key(4)) >>> 0;
const [SMALL_LOW, SMALL_HIGH] = flip(8);
const [LEFT_LOW, LEFT_HIGH] = flip(24);
const [RIGHT_LOW, RIGHT_HIGH] = flip(40);

/** Final mix of inputs below 4 bytes. */
function avalancheTiny(l: number, h: number): void {
  w.xorShiftFar(l, h, 33);
  w.multiply(w.low, w.high, 0x27d4eb4f, 0xc2b2ae3d);
  w.xorShift(w.low, w.high, 29);
  w.multiply(w.low, w.high, 0x9e3779f9, 0x165667b1);
  w.xorShiftFar(w.low, w.high, 32);
}

/** Final mix of every other length. */
export function avalanche(l: number, h: number): void {
  w.xorShiftFar(l, h, 37);
  w.multiply(w.low, w.high, 0x9e3779f9, 0x16566791);
  w.xorShiftFar(w.low, w.high, 32);
}

/** XXH3-64 of 0 to 240 bytes, left in the result words. */
export function hashShort(view: DataView, at: number, length: number): void {
  if (length > 128) hashTo240(view, at, length);
  else if (length > 16) hashTo128(view, at, length);
  else if (length > 8) hashTo16(view, at, length);
  else if (length > 3) hashTo8(view, at, length);
  else if (length > 0) {
    const first = view.getUint8(at);
    const middle = view.getUint8(at + (length >>> 1));
    const last = view.getUint8(at + length - 1);
    avalancheTiny((((first << 16) | (middle << 24) | last | (length << 8)) ^ TINY) >>> 0, 0);
  } else avalancheTiny(EMPTY_LOW, EMPTY_HIGH);
}

function hashTo8(view: DataView, at: number, length: number): void {
  const l = (view.getUint32(at + length - 4, true) ^ SMALL_LOW) >>> 0;
  const h = (view.getUint32(at, true) ^ SMALL_HIGH) >>> 0;
  // word ^ rotate(word, 49) ^ rotate(word, 24); rotating by 49 swaps the halves and rotates by 17.
  const mixedLow = l ^ ((h << 17) | (l >>> 15)) ^ ((l << 24) | (h >>> 8));
  const mixedHigh = h ^ ((l << 17) | (h >>> 15)) ^ ((h << 24) | (l >>> 8));
  w.multiply(mixedLow >>> 0, mixedHigh >>> 0, 0x1e98df25, 0x9fb21c65);
  w.multiply((w.low ^ ((w.high >>> 3) + length)) >>> 0, w.high, 0x1e98df25, 0x9fb21c65);
  w.xorShift(w.low, w.high, 28);
}

function hashTo16(view: DataView, at: number, length: number): void {
  const end = at + length;
  const leftLow = (view.getUint32(at, true) ^ LEFT_LOW) >>> 0;
  const leftHigh = (view.getUint32(at + 4, true) ^ LEFT_HIGH) >>> 0;
  const rightLow = (view.getUint32(end - 8, true) ^ RIGHT_LOW) >>> 0;
  const rightHigh = (view.getUint32(end - 4, true) ^ RIGHT_HIGH) >>> 0;
  w.multiplyFold(leftLow, leftHigh, rightLow, rightHigh);
  w.add(w.low, w.high, rightLow, rightHigh);
  w.add(w.low, w.high, w.swapBytes(leftHigh), w.swapBytes(leftLow));
  w.add(w.low, w.high, length, 0);
  avalanche(w.low, w.high);
}

let sumLow = 0;
let sumHigh = 0;

/** Adds 16 input bytes, mixed with the secret at `secretAt`, to the running sum. */
function mix(view: DataView, at: number, secretAt: number): void {
  w.multiplyFold(
    (view.getUint32(at, true) ^ key(secretAt)) >>> 0,
    (view.getUint32(at + 4, true) ^ key(secretAt + 4)) >>> 0,
    (view.getUint32(at + 8, true) ^ key(secretAt + 8)) >>> 0,
    (view.getUint32(at + 12, true) ^ key(secretAt + 12)) >>> 0,
  );
  w.add(sumLow, sumHigh, w.low, w.high);
  sumLow = w.low;
  sumHigh = w.high;
}

function startSum(length: number): void {
  w.multiply(length, 0, 0x85ebca87, 0x9e3779b1);
  sumLow = w.low;
  sumHigh = w.high;
}

function hashTo128(view: DataView, at: number, length: number): void {
  startSum(length);
  const end = at + length;
  // Pairs from the outside inwards: as many as the length covers.
  for (let pair = (length - 1) >>> 5; pair >= 0; pair--) {
    mix(view, at + 16 * pair, 32 * pair);
    mix(view, end - 16 * (pair + 1), 32 * pair + 16);
  }
  avalanche(sumLow, sumHigh);
}

function hashTo240(view: DataView, at: number, length: number): void {
  startSum(length);
  for (let i = 0; i < 8; i++) mix(view, at + 16 * i, 16 * i);
  avalanche(sumLow, sumHigh);
  sumLow = w.low;
  sumHigh = w.high;
  const rounds = length >>> 4;
  for (let i = 8; i < rounds; i++) mix(view, at + 16 * i, 16 * (i - 8) + 3);
  mix(view, at + length - 16, 136 - 17);
  avalanche(sumLow, sumHigh);
}

const mergeKeys = secretWords(11, 16);

/** Folds the eight accumulators of a long input into the hash. */
export function mergeAccumulators(accumulators: Uint32Array, total: number): void {
  const totalHigh = Math.floor(total / 0x1_0000_0000);
  w.multiply(total >>> 0, totalHigh, 0x85ebca87, 0x9e3779b1);
  sumLow = w.low;
  sumHigh = w.high;
  for (let i = 0; i < 16; i += 4) {
    w.multiplyFold(
      keyed(accumulators, i),
      keyed(accumulators, i + 1),
      keyed(accumulators, i + 2),
      keyed(accumulators, i + 3),
    );
    w.add(sumLow, sumHigh, w.low, w.high);
    sumLow = w.low;
    sumHigh = w.high;
  }
  avalanche(sumLow, sumHigh);
}

const keyed = (accumulators: Uint32Array, i: number): number => ((accumulators[i] ?? 0) ^ (mergeKeys[i] ?? 0)) >>> 0;
