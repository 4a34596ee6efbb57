import * as protocol from "@iggy/protocol";
import fc from "fast-check";
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { nativeHasher } from "../../src/hash/index.js";
import { describeAddon } from "./built-addon.js";

const input = randomBytes(300_000);

describeAddon("the stream of the addon", (addon) => {
  const native = nativeHasher(addon, protocol);

  it("gives the hash of the whole for any pieces", () => {
    for (const length of [0, 1, 16, 240, 241, 1023, 1024, 1025, 1088, 2047, 2048, 2049, 9999, 300_000]) {
      const whole = protocol.xxh3_64(input, 0, length);
      for (const step of [1, 63, 64, 65, 1000, 1024, 1025, 4096, 280_000].filter((size) => length / size < 3000)) {
        const stream = native.createStream();
        for (let at = 0; at < length; at += step) stream.update(input.subarray(at, Math.min(at + step, length)));
        expect(stream.digest(), `${String(length)} by ${String(step)}`).toBe(whole);
        expect(stream.length).toBe(length);
      }
    }
  });

  it("gives the hash of the whole at random cuts, under a seed", () => {
    const state = new Uint8Array(addon.xxh3StreamSize);
    const out = new Uint32Array(2);
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(80), fc.nat(3000)), { maxLength: 12 }),
        fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
        (pieces, seed) => {
          addon.xxh3StreamStart(state, seed);
          let at = 0;
          for (const piece of pieces) {
            addon.xxh3StreamUpdate(state, input.subarray(at, at + piece));
            at += piece;
            addon.xxh3StreamDigest(state, out);
            expect(BigInt(out[0]!) | (BigInt(out[1]!) << 32n)).toBe(addon.xxh3(input, 0, at, seed));
          }
        },
      ),
    );
  });

  it("goes on after a digest and starts over after a reset", () => {
    const stream = native.createStream().update(input.subarray(0, 700));
    expect(stream.digest()).toBe(protocol.xxh3_64(input, 0, 700));
    expect(stream.update(input.subarray(700, 3000)).digest()).toBe(protocol.xxh3_64(input, 0, 3000));
    expect(stream.reset().digest()).toBe(protocol.xxh3_64(new Uint8Array(0)));
    expect(stream.length).toBe(0);
    expect(stream.update(input.subarray(0, 10)).digest()).toBe(protocol.xxh3_64(input, 0, 10));
  });

  it("refuses a state that no stream leaves behind, and survives every other one", () => {
    const out = new Uint32Array(2);
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 88, maxLength: 88 }),
        fc.nat(2000),
        fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
        fc.integer({ min: 0, max: 1100 }),
        (head, length, total, pending) => {
          const state = new Uint8Array(addon.xxh3StreamSize).fill(0x5a);
          state.set(head);
          const view = new DataView(state.buffer);
          view.setBigUint64(72, total, true);
          view.setBigUint64(80, BigInt(pending), true);
          const act = (): void => {
            addon.xxh3StreamUpdate(state, input.subarray(0, length));
            addon.xxh3StreamDigest(state, out);
          };
          const isSound =
            pending <= 1024 &&
            total >= BigInt(pending) &&
            (total - BigInt(pending)) % 1024n === 0n &&
            (pending > 0 || total === 0n);
          if (isSound) act();
          else expect(act).toThrow(RangeError);
        },
      ),
    );
    expect(() => {
      addon.xxh3StreamUpdate(new Uint8Array(10), input);
    }).toThrow(RangeError);
    const unaligned = new Uint8Array(new ArrayBuffer(addon.xxh3StreamSize + 8), 1, addon.xxh3StreamSize);
    expect(() => {
      addon.xxh3StreamStart(unaligned);
    }).toThrow(RangeError);
  });

  it("refuses its own state as input", () => {
    const state = new Uint8Array(addon.xxh3StreamSize);
    addon.xxh3StreamStart(state);
    expect(() => {
      addon.xxh3StreamUpdate(state, state.subarray(1000));
    }).toThrow(RangeError);
  });
});
