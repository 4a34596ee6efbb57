import { xxhash3, xxhash32 } from "hash-wasm";
import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { assembledModuleText } from "../../scripts/assemble.js";
import type { HashBackend } from "../../src/hash/backend.js";
import { hashBackend, xxh32, xxh3_64, Xxh3Stream } from "../../src/hash/index.js";
import { portable } from "../../src/hash/portable.js";
import { wasmBackend } from "../../src/hash/wasm/backend.js";
import { encodeBatch } from "../../src/messages/index.js";
import { randomBytes } from "../random-bytes.js";

const wasm = wasmBackend();
if (wasm === undefined) throw new Error("this engine has no WebAssembly with SIMD");
const backends: readonly HashBackend[] = [portable, wasm];

const input = randomBytes(3_000_000, 7);
const hashWith = (backend: HashBackend, at: number, length: number): bigint => {
  const out = new Uint32Array(2);
  backend.hash(out, input, at, length);
  return BigInt(out[0]!) | (BigInt(out[1]!) << 32n);
};
const reference = async (at: number, length: number): Promise<bigint> =>
  BigInt(`0x${await xxhash3(input.subarray(at, at + length))}`);

// Around the window of the WebAssembly side (262,144) and far above it.
const large = [
  ...[4095, 4096, 4097, 65_535, 262_143, 262_144, 262_145, 262_144 + 63, 262_144 + 64, 262_144 + 1024],
  ...[524_288, 524_289, 1_048_576 + 241, 2_999_000],
];

describe.each(backends)("XXH3-64 of the $name backend", (backend) => {
  it("equals another implementation on every length from 0 to 2048", async () => {
    for (let length = 0; length <= 2048; length++) {
      expect(hashWith(backend, length % 13, length), String(length)).toBe(await reference(length % 13, length));
    }
  });

  it("equals another implementation on large inputs", async () => {
    for (const length of large) expect(hashWith(backend, 3, length), String(length)).toBe(await reference(3, length));
  });

  it("hashes runs of message frames of every size as single hashes do", () => {
    const sizes = [0, 1, 100, 192, 193, 200, 1000, 5000, 262_000, 262_096, 262_104, 262_105, 700_000, 17];
    const batch = encodeBatch(sizes.map((size, i) => ({ payload: input.subarray(i, i + size), originTimestamp: 0 })));
    let at = 256;
    let index = 0;
    while (at < batch.length) {
      const count = backend.hashRun(batch, at, batch.length);
      expect(count).toBeGreaterThan(0);
      for (let i = 0; i < count; i++) {
        const end = at + 48 + sizes[index]!;
        const out = new Uint32Array(2);
        portable.hash(out, batch, at + 8, end - at - 8);
        expect([...backend.runHashes.subarray(2 * i, 2 * i + 2)]).toEqual([...out]);
        at = end;
        index++;
      }
    }
    expect(index).toBe(sizes.length);
  });

  it("takes no frame that is not whole", () => {
    const batch = encodeBatch([{ payload: input.subarray(0, 100), originTimestamp: 0 }]);
    expect(backend.hashRun(batch, 256, batch.length - 1)).toBe(0);
    expect(backend.hashRun(batch, 256, 256 + 47)).toBe(0);
    const claim = batch.slice();
    claim.fill(0xff, 256 + 32, 256 + 40);
    expect(backend.hashRun(claim, 256, claim.length)).toBe(0);
  });

  it("stops after 4096 frames", () => {
    const payload = new Uint8Array(0);
    const batch = encodeBatch(Array.from({ length: 5000 }, () => ({ payload, originTimestamp: 0 })));
    expect(backend.hashRun(batch, 256, batch.length)).toBe(4096);
    expect(backend.hashRun(batch, 256 + 4096 * 48, batch.length)).toBe(5000 - 4096);
  });
});

describe("the stream", () => {
  it("gives the hash of the whole for any pieces", async () => {
    for (const length of [0, 1, 16, 240, 241, 1023, 1024, 1025, 1088, 2047, 2048, 2049, 9999, 300_000]) {
      const whole = await reference(0, length);
      for (const step of [1, 63, 64, 65, 1000, 1024, 1025, 4096, 280_000].filter((size) => length / size < 3000)) {
        const stream = new Xxh3Stream();
        for (let at = 0; at < length; at += step) stream.update(input.subarray(at, Math.min(at + step, length)));
        expect(stream.digest(), `${String(length)} by ${String(step)}`).toBe(whole);
        expect(stream.length).toBe(length);
      }
    }
  });

  it("goes on after a digest and starts over after a reset", () => {
    const stream = new Xxh3Stream().update(input.subarray(0, 700));
    expect(stream.digest()).toBe(xxh3_64(input, 0, 700));
    expect(stream.update(input.subarray(700, 3000)).digest()).toBe(xxh3_64(input, 0, 3000));
    expect(stream.reset().digest()).toBe(xxh3_64(new Uint8Array(0)));
    expect(stream.update(input.subarray(0, 10)).digest()).toBe(xxh3_64(input, 0, 10));
  });
});

describe("XXH32", () => {
  it("equals another implementation on every length from 0 to 200, with seeds", async () => {
    for (let length = 0; length <= 200; length++) {
      for (const seed of [0, 1, 0xffff_ffff]) {
        const bytes = input.subarray(5, 5 + length);
        expect(xxh32(bytes, seed)).toBe(Number.parseInt(await xxhash32(bytes, seed), 16));
      }
    }
  });
});

describe("the WebAssembly module", () => {
  it("is the one that its source assembles to", async () => {
    const committed = readFileSync(new URL("../../src/hash/wasm/module.generated.ts", import.meta.url), "utf8");
    expect(committed).toBe(await assembledModuleText());
  });

  it("is what this process uses", () => {
    expect(hashBackend).toBe("wasm-simd");
  });

  it("is left alone where the engine lacks it, lacks SIMD or forbids to compile", () => {
    const forbidden = function (): never {
      throw new Error("the content security policy forbids code generation");
    };
    for (const engine of [undefined, { validate: () => false }, { validate: () => true, Module: forbidden }]) {
      vi.stubGlobal("WebAssembly", engine);
      try {
        expect(wasmBackend()).toBeUndefined();
      } finally {
        vi.unstubAllGlobals();
      }
    }
    expect(wasmBackend()?.name).toBe("wasm-simd");
  });
});
