import * as protocol from "@iggy/protocol";
import fc from "fast-check";
import { randomBytes, randomFillSync } from "node:crypto";
import { expect, it } from "vitest";
import { AesGcmSiv, NativeBatchSiv, nativeSivBackend, SIV_FAULT, SIV_OVERHEAD } from "../../src/siv/index.js";
import { describeAddon } from "../hash/built-addon.js";
import { damaged, randomBatch, randomDamage } from "../hash/random-batches.js";

const fill = (bytes: Uint8Array): void => void randomFillSync(bytes);
const dirty = (size: number): Uint8Array => new Uint8Array(size).fill(0xdd);

interface Section {
  readonly payload: Uint8Array;
  readonly userHeaders: Uint8Array;
}
function sectionsOf(batch: Uint8Array): Section[] {
  const sections: Section[] = [];
  protocol.forEachMessage(batch, ({ payload, userHeaders }) => sections.push({ payload, userHeaders }));
  return sections;
}

describeAddon("whole batches sealed by the addon", (addon) => {
  if (!addon.sivAvailable) {
    it.skip("needs a processor with AES instructions");
    return;
  }
  const key = randomBytes(32);
  const cipher = new NativeBatchSiv(addon, key);
  const siv = new AesGcmSiv(key, nativeSivBackend(addon));

  it("hold every section sealed, with lengths and checksums that fit", () => {
    fc.assert(
      fc.property(randomBatch, (batch) => {
        const sealed = cipher.seal(batch, fill, dirty)!;
        expect(protocol.verifyBatch(sealed)).toBe(sealed.length);
        const opened = sectionsOf(sealed).map(({ payload, userHeaders }) => ({
          payload: siv.open(payload),
          userHeaders: userHeaders.length === 0 ? userHeaders : siv.open(userHeaders),
        }));
        expect(opened).toEqual(sectionsOf(batch));
        expect(Buffer.compare(cipher.open(sealed, dirty)!, batch)).toBe(0);
      }),
    );
  });

  it("are those that the protocol package rewrites section by section", () => {
    fc.assert(
      fc.property(randomBatch, (batch) => {
        const sealed = cipher.seal(batch, fill)!;
        const nonces: Uint8Array[] = [];
        for (const { payload, userHeaders } of sectionsOf(sealed)) {
          nonces.push(payload.subarray(0, 12));
          if (userHeaders.length > 0) nonces.push(userHeaders.subarray(0, 12));
        }
        expect(new Set(nonces.map(String)).size).toBe(nonces.length);
        const expected = new Uint8Array(protocol.rewrittenBatchSize(batch, SIV_OVERHEAD)!);
        protocol.rewriteBatch(batch, expected, SIV_OVERHEAD, (source, target) => {
          siv.sealInto(nonces.shift()!, source, target);
          return true;
        });
        expect(Buffer.compare(sealed, expected)).toBe(0);
      }),
    );
  });

  it("may be followed by other bytes", () => {
    const batch = protocol.encodeBatch([{ payload: Buffer.from("hello"), originTimestamp: 1 }]);
    const more = Buffer.concat([batch, batch]);
    expect(cipher.open(cipher.seal(more, fill)!)).toEqual(batch);
  });

  it("are not opened under another key, with any bit of a section changed, or as plain ones", () => {
    const batch = protocol.encodeBatch([
      { payload: randomBytes(40), originTimestamp: 1 },
      { payload: randomBytes(40), userHeaders: randomBytes(9), originTimestamp: 1 },
    ]);
    const sealed = cipher.seal(batch, fill)!;
    expect(new NativeBatchSiv(addon, randomBytes(32)).open(sealed)).toBeUndefined();
    expect(cipher.open(batch)).toBeUndefined();
    const outcome = new Float64Array(3);
    const second = 256 + 48 + 68;
    for (const [at, frame] of [
      [256 + 48, 256],
      [256 + 48 + 67, 256],
      [second + 48 + 20, second],
      [sealed.length - 1, second],
    ] as const) {
      const changed = sealed.slice();
      changed[at]! ^= 0x10;
      expect(cipher.open(changed)).toBeUndefined();
      const output = dirty(batch.length);
      expect(addon.sivOpenBatch(key, changed, 0, changed.length, output, outcome)).toBe(SIV_FAULT.notSealed);
      expect(outcome[0]).toBe(frame);
      expect(output.every((byte) => byte === 0)).toBe(true);
    }
  });

  it("of unsound layout are refused where the protocol package refuses them", () => {
    const outcome = new Float64Array(3);
    fc.assert(
      fc.property(randomBatch, randomDamage, (sound, damage) => {
        const bytes = damaged(sound, damage);
        let expected: number | string | undefined;
        try {
          expected = protocol.rewrittenBatchSize(bytes, SIV_OVERHEAD);
        } catch (error) {
          if (!(error instanceof protocol.WireError)) throw error;
          expected = `${error.kind} at ${String(error.offset)}`;
        }
        const fault = addon.sivMeasureBatch(bytes, 0, bytes.length, outcome);
        if (typeof expected === "number") {
          expect(fault).toBe(SIV_FAULT.none);
          expect(outcome[1]! + SIV_OVERHEAD * outcome[2]!).toBe(expected);
          expect(cipher.seal(bytes, fill)).toHaveLength(expected);
        } else {
          const kind = fault === SIV_FAULT.cut ? "UnexpectedEof" : "Validation";
          expect(`${kind} at ${String(outcome[0])}`).toBe(expected);
          expect(cipher.seal(bytes, fill)).toBeUndefined();
          expect(cipher.open(bytes)).toBeUndefined();
        }
      }),
      { numRuns: 500 },
    );
  });

  it("survive any damage when they are opened", () => {
    fc.assert(
      fc.property(randomBatch, randomDamage, (sound, damage) => {
        const sealed = cipher.seal(sound, fill)!;
        const opened = cipher.open(damaged(sealed, damage), dirty);
        // The headers are not sealed, so some damage goes through; what comes out still consists of frames.
        if (opened !== undefined) expect(protocol.rewrittenBatchSize(opened, 0)).toBe(opened.length);
      }),
      { numRuns: 500 },
    );
  });

  it("need an output of their size, apart from the input, and a nonce for each section", () => {
    const outcome = new Float64Array(3);
    const batch = protocol.encodeBatch([
      { payload: new Uint8Array(40), userHeaders: new Uint8Array(9), originTimestamp: 1 },
    ]);
    const grown = batch.length + 2 * SIV_OVERHEAD;
    const seal = (nonces: number, output: Uint8Array): unknown =>
      addon.sivSealBatch(key, new Uint8Array(nonces), batch, 0, batch.length, output, outcome);
    for (const nonces of [0, 12, 23, 25, 36]) expect(() => seal(nonces, new Uint8Array(grown))).toThrow(RangeError);
    for (const size of [0, grown - 1, grown + 1]) expect(() => seal(24, new Uint8Array(size))).toThrow(RangeError);
    expect(seal(24, new Uint8Array(grown))).toBe(SIV_FAULT.none);

    const memory = new Uint8Array(2 * grown);
    memory.set(batch, grown - 1);
    const overlapping = (): unknown =>
      addon.sivSealBatch(key, new Uint8Array(24), memory, grown - 1, grown, memory.subarray(0, grown), outcome);
    expect(overlapping).toThrow(RangeError);
    expect(() => addon.sivSealBatch(key, new Uint8Array(24), batch, 1, batch.length, memory, outcome)).toThrow(
      RangeError,
    );
    expect(() => new NativeBatchSiv(addon, new Uint8Array(31))).toThrow(RangeError);
  });

  it("are neither sealed nor opened by a wiped key", () => {
    const batch = protocol.encodeBatch([{ payload: new Uint8Array(40), originTimestamp: 1 }]);
    const wiped = new NativeBatchSiv(addon, key);
    wiped.destroy();
    expect(() => wiped.seal(batch, fill)).toThrow(/wiped/);
    expect(() => wiped.open(cipher.seal(batch, fill)!)).toThrow(/wiped/);
  });
});
