import * as protocol from "@iggy/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type BatchStamp, FAULT, nativeHasher, portableHasher } from "../../src/hash/index.js";
import { describeAddon } from "./built-addon.js";
import { damaged, randomBatch, randomDamage, u64 } from "./random-batches.js";

const stampOf: fc.Arbitrary<BatchStamp> = fc.record({
  partitionId: fc.nat(0xffff_ffff),
  baseOffset: fc.oneof(u64, fc.nat(Number.MAX_SAFE_INTEGER)),
  baseTimestamp: fc.oneof(u64, fc.nat(Number.MAX_SAFE_INTEGER)),
});
const badStamp: fc.Arbitrary<BatchStamp> = fc.record({
  partitionId: fc.constantFrom(0, -1, 1.5, Number.NaN, 2 ** 53),
  baseOffset: fc.constantFrom(0, -1n, 1n << 64n, 0.5),
  baseTimestamp: fc.constantFrom(0n, -5, 1n << 70n),
});

interface Fault {
  readonly kind: string;
  readonly code: number;
  readonly offset: number | undefined;
  readonly message: string;
}
/** The value of a call, or what makes up the error that it throws. */
function resultOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof protocol.WireError)) throw error;
    const { kind, code, offset, message } = error;
    return { kind, code, offset, message } satisfies Fault;
  }
}

const kinds: Record<string, number> = {
  UnexpectedEof: FAULT.cut,
  Validation: FAULT.layout,
  InvalidMessageChecksum: FAULT.messageChecksum,
  InvalidBatchChecksum: FAULT.batchChecksum,
};

describeAddon("batches in the addon", (addon) => {
  const native = nativeHasher(addon, protocol);
  const portable = portableHasher(protocol, protocol.hashBackend);
  const outcome = new Float64Array(3);

  it("are verified as by the protocol package, whatever is wrong with them", () => {
    const seen = new Set<number>();
    fc.assert(
      fc.property(randomBatch, randomDamage, fc.nat(20), fc.nat(30), (sound, damage, before, behind) => {
        const batch = damaged(sound, damage);
        const bytes = new Uint8Array(before + batch.length + behind).fill(0xee);
        bytes.set(batch, before);
        const expected = resultOf(() => protocol.verifyBatch(bytes, before, batch.length));
        expect(resultOf(() => native.verifyBatch(bytes, before, batch.length))).toEqual(expected);

        const fault = addon.verifyBatch(bytes, before, batch.length, outcome);
        seen.add(fault);
        if (typeof expected === "number") expect([fault, outcome[1]]).toEqual([FAULT.none, expected]);
        else {
          const { kind, offset } = expected as Fault;
          expect([fault, outcome[0]]).toEqual([kinds[kind], offset]);
        }
      }),
      { numRuns: 3000 },
    );
    expect([...seen].sort()).toEqual(Object.values(FAULT));
  });

  it("are verified alike when their checksums fit whatever layout they have", () => {
    fc.assert(
      fc.property(randomBatch, randomDamage, (sound, damage) => {
        const bytes = damaged(sound, damage);
        addon.sealBatch(bytes, 0, bytes.length, outcome);
        expect(resultOf(() => native.verifyBatch(bytes))).toEqual(resultOf(() => protocol.verifyBatch(bytes)));
      }),
      { numRuns: 1000 },
    );
  });

  it("tell the damaged message by its index", () => {
    const batch = protocol.encodeBatch(
      Array.from({ length: 5 }, () => ({ payload: new Uint8Array(300), originTimestamp: 1 })),
    );
    batch[256 + 3 * 348 + 100]! ^= 1;
    batch[256 + 4 * 348 + 100]! ^= 1;
    expect(addon.verifyBatch(batch, 0, batch.length, outcome)).toBe(FAULT.messageChecksum);
    expect([...outcome]).toEqual([256 + 3 * 348, batch.length, 3]);
  });

  it("that are sound give their length and number of messages", () => {
    const batch = protocol.encodeBatch(
      Array.from({ length: 700 }, (_, i) => ({ payload: new Uint8Array(i % 9), originTimestamp: 1 })),
    );
    expect(addon.verifyBatch(batch, 0, batch.length, outcome)).toBe(FAULT.none);
    expect([...outcome]).toEqual([0, batch.length, 700]);
  });

  it("are stamped byte for byte alike, sound or not", () => {
    fc.assert(
      fc.property(
        randomBatch,
        randomDamage,
        fc.oneof({ weight: 9, arbitrary: stampOf }, badStamp),
        fc.nat(9),
        (sound, damage, stamp, before) => {
          const batch = damaged(sound, damage);
          const mine = new Uint8Array(before + batch.length).fill(0xee);
          mine.set(batch, before);
          const theirs = mine.slice();
          const result = resultOf(() => {
            native.stampBatch(mine, before, stamp);
          });
          const expected = resultOf(() => {
            protocol.stampBatch(theirs, before, stamp);
          });
          expect(result).toEqual(expected);
          expect(Buffer.compare(mine, theirs)).toBe(0);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("are verified and stamped in one call as in two", () => {
    fc.assert(
      fc.property(
        randomBatch,
        randomDamage,
        fc.oneof({ weight: 9, arbitrary: stampOf }, badStamp),
        (sound, damage, stamp) => {
          const mine = damaged(sound, damage);
          const theirs = mine.slice();
          const result = resultOf(() => native.verifyAndStampBatch(mine, 0, stamp));
          const expected = resultOf(() => portable.verifyAndStampBatch(theirs, 0, stamp));
          expect(result).toEqual(expected);
          expect(Buffer.compare(mine, theirs)).toBe(0);
          if (typeof expected === "number") expect(native.verifyBatch(mine)).toBe(expected);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it("are left untouched by a native call that finds a fault", () => {
    fc.assert(
      fc.property(randomBatch, randomDamage, (sound, damage) => {
        const bytes = damaged(sound, damage);
        const before = bytes.slice();
        if (addon.verifyAndStampBatch(bytes, 0, bytes.length, 1, 2, 3, outcome) !== FAULT.none) {
          expect(Buffer.compare(bytes, before)).toBe(0);
        }
        bytes.set(before);
        if (addon.stampBatch(bytes, 0, bytes.length, 1, 2, 3, outcome) !== FAULT.none)
          expect(Buffer.compare(bytes, before)).toBe(0);
      }),
    );
  });

  it("of any number of messages are verified and stamped alike", () => {
    // Checksums are gathered 512 at a time.
    for (const count of [1, 500, 507, 512, 513, 1024, 1100, 5000]) {
      const mine = protocol.encodeBatch(
        Array.from({ length: count }, (_, i) => ({ payload: Uint8Array.of(i, i >> 8), originTimestamp: i })),
        { producer: { id: 77n, epoch: 5, baseSequence: count } },
      );
      const theirs = mine.slice();
      const stamp = { partitionId: 3, baseOffset: 1n << 60n, baseTimestamp: 1_772_000_000_000_000 };
      expect(native.verifyAndStampBatch(mine, 0, stamp)).toBe(mine.length);
      protocol.stampBatch(theirs, 0, stamp);
      expect(Buffer.compare(mine, theirs)).toBe(0);
      expect(native.verifyBatch(mine)).toBe(mine.length);
      native.stampBatch(mine, 0, { ...stamp, baseOffset: 5 });
      expect(protocol.verifyBatch(mine)).toBe(mine.length);
    }
  });

  it("get the checksums that their producer would give them", () => {
    fc.assert(
      fc.property(randomBatch, (sound) => {
        const bytes = sound.slice();
        bytes.fill(0, 40, 48);
        bytes.fill(0xaa, 256, 264);
        expect(addon.sealBatch(bytes, 0, bytes.length, outcome)).toBe(FAULT.none);
        expect(Buffer.compare(bytes, sound)).toBe(0);
      }),
    );
  });

  it("of odd bounds are answered as by the protocol package", () => {
    const batch = protocol.encodeBatch([{ payload: new Uint8Array(10), originTimestamp: 1 }]);
    for (const [offset, available] of [
      [batch.length, 0],
      [batch.length + 1, 100],
      [0, batch.length - 1],
      [0, Infinity],
      [1, batch.length],
    ] as const) {
      const result = resultOf(() => native.verifyBatch(batch, offset, available));
      expect(result).toEqual(resultOf(() => protocol.verifyBatch(batch, offset, available)));
    }
  });

  it("that come out sound at the second look are refused all the same", () => {
    const batch = protocol.encodeBatch([{ payload: new Uint8Array(10), originTimestamp: 1 }]);
    const faulty = nativeHasher({ ...addon, verifyBatch: () => FAULT.layout }, protocol);
    expect(() => faulty.verifyBatch(batch)).toThrow(/sound when it was looked at again/);
  });
});
