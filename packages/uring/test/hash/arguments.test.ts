import { expect, it } from "vitest";
import { describeAddon } from "./built-addon.js";

const bytes = new Uint8Array(1000);
const words = new Uint32Array(2);
const outcome = new Float64Array(3);
/** What TypeScript would not let through. */
const wrong = (value: unknown): never => value as never;

function detached(): Uint8Array {
  const taken = new Uint8Array(1000);
  structuredClone(taken.buffer, { transfer: [taken.buffer] });
  return taken;
}

describeAddon("arguments of the hashing functions", (addon) => {
  const calls: Record<string, (bytes: Uint8Array, offset: number, length: number) => unknown> = {
    xxh3: (...range) => addon.xxh3(...range),
    xxh3Into: (...range) => addon.xxh3Into(words, ...range),
    xxh3By: (...range) => addon.xxh3By("scalar", ...range),
    verifyBatch: (...range) => addon.verifyBatch(...range, outcome),
    sealBatch: (...range) => addon.sealBatch(...range, outcome),
    stampBatch: (...range) => addon.stampBatch(...range, 1, 2, 3, outcome),
    verifyAndStampBatch: (...range) => addon.verifyAndStampBatch(...range, 1, 2, 3, outcome),
  };

  it.each(Object.keys(calls))("must be a range of the bytes (%s)", (name) => {
    const call = calls[name]!;
    const ranges: readonly (readonly [number, number])[] = [
      [0, 1001],
      [1001, 0],
      [1000, 1],
      [999, 2],
      [-1, 1],
      [0, -1],
      [0.5, 1],
      [0, 1.5],
      [Number.NaN, 1],
      [0, Number.NaN],
      [Infinity, 0],
      [0, Infinity],
      [2 ** 53, 2 ** 53],
      [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    ];
    for (const range of ranges) expect(() => call(bytes, ...range), String(range)).toThrow(RangeError);
    for (const value of [undefined, null, "1", 1n, {}]) {
      expect(() => call(bytes, wrong(value), 1), typeof value).toThrow(TypeError);
      expect(() => call(bytes, 0, wrong(value)), typeof value).toThrow(TypeError);
    }
    call(bytes, 1000, 0);
  });

  it.each(Object.keys(calls))("must be a Uint8Array (%s)", (name) => {
    const call = calls[name]!;
    for (const value of [
      undefined,
      null,
      {},
      [],
      "text",
      7,
      new ArrayBuffer(8),
      new DataView(new ArrayBuffer(8)),
      new Uint16Array(8),
      new Int8Array(8),
      new Uint8ClampedArray(8),
    ]) {
      expect(() => call(wrong(value), 0, 0)).toThrow(TypeError);
    }
    call(Buffer.alloc(300), 0, 300);
  });

  it.each(Object.keys(calls))("may be a detached array, which has no bytes (%s)", (name) => {
    const call = calls[name]!;
    expect(() => call(detached(), 0, 1)).toThrow(RangeError);
    call(detached(), 0, 0);
  });

  it("must have room for the results", () => {
    for (const out of [undefined, [0, 0], new Int32Array(2), new Float64Array(2)]) {
      expect(() => addon.xxh3Into(wrong(out), bytes, 0, 1)).toThrow(TypeError);
    }
    expect(() => addon.xxh3Into(new Uint32Array(1), bytes, 0, 1)).toThrow(RangeError);
    for (const out of [undefined, [0, 0, 0], new Float32Array(3)]) {
      expect(() => addon.verifyBatch(bytes, 0, 1000, wrong(out))).toThrow(TypeError);
    }
    expect(() => addon.verifyBatch(bytes, 0, 1000, new Float64Array(2))).toThrow(RangeError);
  });

  it("must be seeds and stamps of 64 bits", () => {
    for (const value of [-1, 1.5, Number.NaN, 2 ** 53, -1n, 1n << 64n]) {
      expect(() => addon.xxh3(bytes, 0, 1, value)).toThrow(RangeError);
      expect(() => addon.stampBatch(bytes, 0, 1000, value, 2, 3, outcome)).toThrow(RangeError);
      expect(() => addon.stampBatch(bytes, 0, 1000, 1, value, 3, outcome)).toThrow(RangeError);
      expect(() => addon.verifyAndStampBatch(bytes, 0, 1000, 1, 2, value, outcome)).toThrow(RangeError);
    }
    for (const value of ["1", null, {}]) {
      expect(() => addon.xxh3(bytes, 0, 1, wrong(value))).toThrow(TypeError);
      expect(() => addon.stampBatch(bytes, 0, 1000, 1, wrong(value), 3, outcome)).toThrow(TypeError);
    }
  });

  it("must name a kernel that there is", () => {
    expect(() => addon.xxh3By("mmx", bytes, 0, 1)).toThrow(RangeError);
    expect(() => addon.xxh3By("", bytes, 0, 1)).toThrow(RangeError);
    expect(() => addon.xxh3By("scalar and a lot of other text", bytes, 0, 1)).toThrow(RangeError);
    expect(() => addon.xxh3By(wrong(1), bytes, 0, 1)).toThrow(TypeError);
  });

  it("must not be missing altogether", () => {
    const functions: Partial<Record<string, unknown>> = { ...addon };
    for (const name of Object.keys(calls)) expect(functions[name] as () => unknown, name).toThrow(TypeError);
  });
});
