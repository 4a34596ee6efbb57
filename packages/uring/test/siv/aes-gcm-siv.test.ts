import fc from "fast-check";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { AesGcmSiv, javascriptSiv, nativeSivBackend, sivBackend, type SivBackend } from "../../src/siv/index.js";
import { describeAddon } from "../hash/built-addon.js";
import { rfc8452Vectors } from "./rfc8452-vectors.js";

const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));
const toHex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString("hex");

/** What holds for every backend. */
function behaviourOf(backend: SivBackend): void {
  it.each(rfc8452Vectors)("seals and opens the vector of RFC 8452 with tag of $result", (vector) => {
    const siv = new AesGcmSiv(fromHex(vector.key), backend);
    const associated = fromHex(vector.associated);
    const sealed = siv.seal(fromHex(vector.nonce), fromHex(vector.plaintext), associated);
    expect(toHex(sealed)).toBe(vector.nonce + vector.result);
    expect(toHex(siv.open(sealed, associated))).toBe(vector.plaintext);
  });

  it("seals a field of a message as an official server does", () => {
    const siv = new AesGcmSiv(
      Uint8Array.from({ length: 32 }, (_, i) => i),
      backend,
    );
    const sealed = siv.seal(new Uint8Array(12), Buffer.from("hello"));
    expect(toHex(sealed)).toBe("00000000000000000000000057a7222e979210527458620d4cb2bda9f40d5897e7");
  });

  it("opens nothing in which a bit is changed, and leaves zeros", () => {
    const siv = new AesGcmSiv(randomBytes(32), backend);
    const sealed = siv.seal(randomBytes(12), randomBytes(150), Uint8Array.of(1));
    for (let at = 0; at < sealed.length; at++) {
      const changed = sealed.slice();
      changed[at]! ^= 1 << (at % 8);
      const output = new Uint8Array(150).fill(7);
      expect(siv.openInto(changed, output, Uint8Array.of(1))).toBe(false);
      expect(output.every((byte) => byte === 0)).toBe(true);
    }
    expect(siv.open(sealed, Uint8Array.of(2))).toBeUndefined();
    expect(siv.open(sealed)).toBeUndefined();
    expect(new AesGcmSiv(randomBytes(32), backend).open(sealed, Uint8Array.of(1))).toBeUndefined();
    expect(siv.open(sealed, Uint8Array.of(1))).toHaveLength(150);
  });

  it("opens nothing that is too short to be sealed", () => {
    const siv = new AesGcmSiv(randomBytes(32), backend);
    for (let length = 0; length < 28; length++) {
      expect(siv.open(new Uint8Array(length))).toBeUndefined();
      expect(siv.openInto(new Uint8Array(length), new Uint8Array(0))).toBe(false);
    }
    expect(siv.open(siv.seal(randomBytes(12), new Uint8Array(0)))).toEqual(new Uint8Array(0));
  });

  it("refuses wrong sizes", () => {
    const siv = new AesGcmSiv(randomBytes(32), backend);
    for (const size of [0, 16, 31, 33]) expect(() => new AesGcmSiv(randomBytes(size), backend)).toThrow(RangeError);
    for (const size of [0, 11, 13]) expect(() => siv.seal(randomBytes(size), new Uint8Array(3))).toThrow(RangeError);
    for (const size of [0, 30, 32]) {
      expect(() => {
        siv.sealInto(randomBytes(12), new Uint8Array(3), new Uint8Array(size));
      }).toThrow(RangeError);
    }
    const sealed = siv.seal(randomBytes(12), new Uint8Array(3));
    for (const size of [0, 2, 4]) expect(() => siv.openInto(sealed, new Uint8Array(size))).toThrow(RangeError);
  });

  it("refuses an output that overlaps an input, and writes nothing", () => {
    const siv = new AesGcmSiv(randomBytes(32), backend);
    const memory = new Uint8Array(300).fill(9);
    const output = memory.subarray(100, 148);
    const apart = new Uint8Array(12);
    const inputs: readonly (readonly [Uint8Array, Uint8Array, Uint8Array])[] = [
      [apart, memory.subarray(81, 101), apart],
      [apart, memory.subarray(147, 167), apart],
      [memory.subarray(89, 101), memory.subarray(200, 220), apart],
      [apart, memory.subarray(200, 220), memory.subarray(120, 121)],
    ];
    for (const [nonce, plaintext, associated] of inputs) {
      expect(() => {
        siv.sealInto(nonce, plaintext, output, associated);
      }).toThrow(RangeError);
    }
    expect(() => siv.openInto(memory.subarray(0, 100), memory.subarray(99, 171))).toThrow(RangeError);
    expect(memory.every((byte) => byte === 9)).toBe(true);
    siv.sealInto(memory.subarray(88, 100), memory.subarray(148, 168), output);
  });

  it("keeps a key of its own, until it is wiped", () => {
    const key = randomBytes(32);
    const siv = new AesGcmSiv(key, backend);
    const sealed = siv.seal(randomBytes(12), Uint8Array.of(1, 2, 3));
    key.fill(0);
    expect(siv.open(sealed)).toEqual(Uint8Array.of(1, 2, 3));
    siv.destroy();
    expect(() => siv.open(sealed)).toThrow(/wiped/);
    expect(() => siv.seal(randomBytes(12), new Uint8Array(1))).toThrow(/wiped/);
  });
}

describe("AES-256-GCM-SIV in JavaScript", () => {
  behaviourOf(javascriptSiv);

  it("serves where the addon or the instructions are missing", () => {
    expect(sivBackend(undefined)).toBe(javascriptSiv);
  });
});

describeAddon("AES-256-GCM-SIV of the addon", (addon) => {
  if (!addon.sivAvailable) {
    it("says that the processor lacks the instructions", () => {
      expect(sivBackend(addon)).toBe(javascriptSiv);
      const call = (): unknown => addon.sivOpenInto(new Uint8Array(32), new Uint8Array(28), new Uint8Array(0));
      expect(call).toThrow(/no instructions/);
    });
    return;
  }

  behaviourOf(nativeSivBackend(addon));

  it("is used where the processor has the instructions", () => {
    expect(sivBackend(addon).name).toBe("native");
    expect(sivBackend({ ...addon, sivAvailable: false })).toBe(javascriptSiv);
  });

  it("seals and opens as the JavaScript one on random input", () => {
    const size = fc.oneof(fc.nat(40), fc.nat(300), fc.integer({ min: 1000, max: 5000 }));
    fc.assert(
      fc.property(size, fc.nat(70), fc.nat(16), fc.boolean(), (length, associatedLength, shift, hasAssociated) => {
        const key = randomBytes(32);
        const native = new AesGcmSiv(key, nativeSivBackend(addon));
        const portable = new AesGcmSiv(key, javascriptSiv);
        const plaintext = randomBytes(length + shift).subarray(shift);
        const nonce = randomBytes(12);
        const associated = hasAssociated ? randomBytes(associatedLength) : undefined;
        const sealed = native.seal(nonce, plaintext, associated);
        expect(Buffer.compare(sealed, portable.seal(nonce, plaintext, associated))).toBe(0);
        expect(Buffer.compare(native.open(sealed, associated) ?? Buffer.of(1), plaintext)).toBe(0);
        expect(Buffer.compare(portable.open(sealed, associated) ?? Buffer.of(1), plaintext)).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it("seals and opens as the JavaScript one around each number of blocks, and in several pieces", () => {
    const key = randomBytes(32);
    const native = new AesGcmSiv(key, nativeSivBackend(addon));
    const portable = new AesGcmSiv(key, javascriptSiv);
    // Eight blocks go together; opening works in pieces of 16 KiB.
    const lengths = [...Array.from({ length: 290 }, (_, i) => i), 16_383, 16_384, 16_385, 32_768 + 100, 50_000];
    const input = randomBytes(50_000);
    for (const length of lengths) {
      const nonce = randomBytes(12);
      const plaintext = input.subarray(0, length);
      const sealed = native.seal(nonce, plaintext);
      expect(Buffer.compare(sealed, portable.seal(nonce, plaintext)), String(length)).toBe(0);
      expect(Buffer.compare(native.open(sealed) ?? Buffer.of(1), plaintext), String(length)).toBe(0);
    }
  });

  it("refuses what is no Uint8Array, and a detached key", () => {
    const bytes = new Uint8Array(32);
    const wrong = (value: unknown): never => value as never;
    for (const value of [undefined, null, "key", 1, {}, new ArrayBuffer(32), new Uint16Array(16)]) {
      expect(() => {
        addon.sivSealInto(wrong(value), bytes.subarray(0, 12), bytes, new Uint8Array(60));
      }).toThrow(TypeError);
      expect(() => {
        addon.sivSealInto(bytes, wrong(value), bytes, new Uint8Array(60));
      }).toThrow(TypeError);
      expect(() => {
        addon.sivSealInto(bytes, bytes.subarray(0, 12), wrong(value), new Uint8Array(60));
      }).toThrow(TypeError);
      expect(() => {
        addon.sivSealInto(bytes, bytes.subarray(0, 12), bytes, wrong(value));
      }).toThrow(TypeError);
      if (value !== undefined) expect(() => addon.sivOpenInto(bytes, bytes, bytes, wrong(value))).toThrow(TypeError);
    }
    const key = new Uint8Array(32);
    structuredClone(key.buffer, { transfer: [key.buffer] });
    expect(() => addon.sivOpenInto(key, new Uint8Array(28), new Uint8Array(0))).toThrow(RangeError);
  });
});
