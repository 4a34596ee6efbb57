import * as protocol from "@iggy/protocol";
import { xxhash3 } from "hash-wasm";
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { nativeHasher } from "../../src/hash/index.js";
import { describeAddon } from "./built-addon.js";

const input = randomBytes(3_000_000);

const lengths = Array.from({ length: 2100 }, (_, i) => i);
const largeLengths = [
  ...[4095, 4096, 4097, 65_535, 262_144 + 63, 262_144 + 64, 262_144 + 1024],
  ...[524_288, 524_289, 1_048_576 + 241, 2_999_000],
];
const seeds = [0n, 1n, 0x9e37_79b1n, 0x1234_5678_9abc_def1n, (1n << 63n) + 5n, (1n << 64n) - 1n];

/** The bytes of the golden hashes: byte i = (i * 7 + 3) mod 256. */
const golden = new Map([
  ["", 0x2d06_8005_38d3_94c2n],
  ["hello", 0x9555_e855_5c62_dcfdn],
]);

const reference = async (at: number, length: number, seed = 0n): Promise<bigint> => {
  const bytes = input.subarray(at, at + length);
  return BigInt(`0x${await xxhash3(bytes, Number(seed & 0xffff_ffffn), Number(seed >> 32n))}`);
};

describeAddon("XXH3-64 of the addon", (addon) => {
  const native = nativeHasher(addon, protocol);

  it("gives the published check values", () => {
    for (const [text, hash] of golden) expect(native.xxh3_64(Buffer.from(text))).toBe(hash);
  });

  it.each(addon.hashKernels)("equals another implementation on every length up to 2100 (%s)", async (kernel) => {
    for (const length of [...lengths, ...largeLengths]) {
      const at = length % 13;
      expect(addon.xxh3By(kernel, input, at, length), String(length)).toBe(await reference(at, length));
    }
  });

  it.each(addon.hashKernels)("equals another implementation under seeds (%s)", async (kernel) => {
    for (const seed of seeds) {
      for (const length of [...lengths.filter((value) => value < 300 || value % 17 === 0), 70_001]) {
        const expected = await reference(3, length, seed);
        expect(addon.xxh3By(kernel, input, 3, length, seed), `${String(length)}, seed ${String(seed)}`).toBe(expected);
      }
    }
  });

  it("runs the first of its kernels", () => {
    expect(addon.hashKernels.at(-1)).toBe("scalar");
    expect(native.name).toBe(addon.hashKernels[0]);
    if (process.arch === "x64") expect(addon.hashKernels).toContain("sse2");
    if (process.arch === "arm64") expect(addon.hashKernels).toContain("neon");
  });

  it("writes the same hash as two words, seeded or not", () => {
    const out = new Uint32Array(3).fill(7);
    for (const length of [0, 3, 100, 240, 241, 5000]) {
      for (const seed of seeds) {
        addon.xxh3Into(out, input, 11, length, seed);
        expect(BigInt(out[0]!) | (BigInt(out[1]!) << 32n)).toBe(addon.xxh3(input, 11, length, seed));
      }
      native.xxh3_64Into(out, input, 11, length);
      expect(BigInt(out[0]!) | (BigInt(out[1]!) << 32n)).toBe(protocol.xxh3_64(input, 11, length));
      expect(out[2]).toBe(7);
    }
  });

  it("takes a seed as a number or as a bigint", () => {
    expect(addon.xxh3(input, 0, 500, 42)).toBe(addon.xxh3(input, 0, 500, 42n));
    expect(addon.xxh3(input, 0, 500, undefined)).toBe(addon.xxh3(input, 0, 500));
  });

  it("hashes memory that threads share", () => {
    const shared = new Uint8Array(new SharedArrayBuffer(1000));
    shared.set(input.subarray(0, 1000));
    expect(native.xxh3_64(shared, 10, 900)).toBe(protocol.xxh3_64(input, 10, 900));
  });

  it("answers a range outside the bytes as the protocol package does", () => {
    const bytes = new Uint8Array(10);
    for (const [offset, length] of [
      [0, 11],
      [11, 0],
      [-1, 2],
      [5, 6],
      [Number.NaN, 1],
      [0, -1],
    ] as const) {
      const of = (hasher: { xxh3_64(bytes: Uint8Array, offset: number, length: number): bigint }): unknown => {
        try {
          return hasher.xxh3_64(bytes, offset, length);
        } catch (error) {
          return error;
        }
      };
      expect(of(native)).toStrictEqual(of(protocol));
      expect(of(native)).toBeInstanceOf(protocol.WireError);
    }
  });
});
