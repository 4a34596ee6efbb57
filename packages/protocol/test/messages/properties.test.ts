import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WireError } from "../../src/codec/index.js";
import { IggyError } from "../../src/errors/index.js";
import {
  BatchView,
  checkRecords,
  encodeBatch,
  MessageCursor,
  type MessageInput,
  sliceBatch,
  stampBatch,
  validateBatchLayout,
  verifyBatch,
} from "../../src/messages/index.js";

const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const origin = 1_772_000_000_000_000;
const message: fc.Arbitrary<MessageInput> = fc.record(
  {
    id: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
    payload: fc.uint8Array({ maxLength: 300 }),
    userHeaders: fc.uint8Array({ maxLength: 40 }),
    originTimestamp: fc.oneof(
      fc.integer({ min: origin, max: origin + 0xffff_ffff }),
      fc.integer({ min: origin, max: origin + 1000 }).map(BigInt),
    ),
  },
  { requiredKeys: ["payload", "originTimestamp"] },
);
const batch = fc.record({
  messages: fc.array(message, { minLength: 1, maxLength: 12 }),
  producer: fc.option(
    fc.record({
      id: fc.bigInt({ min: 0n, max: (1n << 63n) - 1n }),
      epoch: fc.integer({ min: 0, max: 32_767 }),
      baseSequence: fc.integer({ min: 0, max: 2_147_483_647 }),
    }),
  ),
});

const readAll = (bytes: Uint8Array): object[] => {
  const seen: object[] = [];
  const cursor = new MessageCursor().records(bytes);
  while (cursor.next()) {
    seen.push({
      id: cursor.id,
      payload: new Uint8Array(cursor.payload),
      userHeaders: new Uint8Array(cursor.userHeaders),
      originTimestamp: cursor.originTimestampBig,
      offset: cursor.offsetBig,
    });
  }
  return seen;
};
/** Either a value or an error of the package; nothing else may escape. */
const settles = (act: () => unknown): void => {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(IggyError);
  }
};
const everyReader = (bytes: Uint8Array): void => {
  settles(() => validateBatchLayout(bytes));
  settles(() => verifyBatch(bytes));
  settles(() => readAll(bytes));
  settles(() => {
    checkRecords(bytes, 1);
  });
  settles(() => sliceBatch(bytes, 0, 0, 1));
  settles(() => {
    stampBatch(bytes.slice(), 0, { partitionId: 1, baseOffset: 2, baseTimestamp: 3 });
  });
};

describe("batches", () => {
  it("read back as what was encoded, before and after stamping", () => {
    fc.assert(
      fc.property(batch, u64, u64, fc.nat(0xffff_ffff), (value, baseOffset, baseTimestamp, partitionId) => {
        const bytes = encodeBatch(value.messages, { producer: value.producer });
        expect(verifyBatch(bytes)).toBe(bytes.length);
        const expected = (base: bigint): object[] =>
          value.messages.map((input, i) => ({
            id: input.id ?? 0n,
            payload: input.payload,
            userHeaders: input.userHeaders ?? new Uint8Array(0),
            originTimestamp: BigInt(input.originTimestamp),
            offset: base + BigInt(i),
          }));
        expect(readAll(bytes)).toEqual(expected(0n));
        stampBatch(bytes, 0, { partitionId, baseOffset, baseTimestamp });
        expect(verifyBatch(bytes)).toBe(bytes.length);
        expect(readAll(bytes)).toEqual(expected(baseOffset));
        const view = new BatchView().at(bytes);
        expect(view.producer()).toEqual(value.producer);
        expect([view.partitionId, view.baseOffsetBig, view.baseTimestampBig]).toEqual([
          partitionId,
          baseOffset,
          baseTimestamp,
        ]);
      }),
    );
  });

  it("lie back to back without touching each other", () => {
    fc.assert(
      fc.property(fc.array(batch, { maxLength: 4 }), (values) => {
        const records = values.map((value) => encodeBatch(value.messages, { producer: value.producer }));
        const joined = new Uint8Array(Buffer.concat(records));
        expect(readAll(joined)).toEqual(records.flatMap(readAll));
        checkRecords(
          joined,
          values.reduce((sum, value) => sum + value.messages.length, 0),
        );
      }),
    );
  });

  it("notice any changed bit", () => {
    fc.assert(
      fc.property(batch, fc.nat(), fc.nat(7), (value, position, bit) => {
        const bytes = encodeBatch(value.messages, { producer: value.producer });
        const at = position % bytes.length;
        bytes[at]! ^= 1 << bit;
        expect(() => verifyBatch(bytes)).toThrow(WireError);
      }),
      { numRuns: 500 },
    );
  });

  it("are refused at every truncation", () => {
    fc.assert(
      fc.property(batch, fc.nat(), (value, position) => {
        const bytes = encodeBatch(value.messages, { producer: value.producer });
        const cut = bytes.subarray(0, position % bytes.length);
        expect(() => validateBatchLayout(cut)).toThrow(WireError);
        expect(() => validateBatchLayout(bytes, 0, cut.length)).toThrow(WireError);
        if (cut.length > 0) expect(() => readAll(cut)).toThrow(WireError);
      }),
    );
  });
});

describe("bytes that are no batch", () => {
  it("give a value or a typed error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 700 }), (bytes) => {
        everyReader(bytes);
      }),
    );
  });

  it("give a value or a typed error when most of them are a batch", () => {
    fc.assert(
      fc.property(
        batch,
        fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)), { maxLength: 6 }),
        (value, changes) => {
          const bytes = encodeBatch(value.messages, { producer: value.producer });
          for (const [position, byte] of changes) bytes[position % bytes.length] = byte;
          everyReader(bytes);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("are refused when the last message is cut inside its checksum", () => {
    const bytes = encodeBatch([{ payload: new Uint8Array(8), originTimestamp: 1n }]);
    for (let cut = 1; cut < 48; cut++) {
      const short = bytes.slice(0, 256 + cut);
      new DataView(short.buffer).setUint32(32, short.length, true);
      everyReader(short);
      expect(() => {
        stampBatch(short, 0, { partitionId: 1, baseOffset: 2, baseTimestamp: 3 });
      }).toThrow(IggyError);
    }
  });

  it("are never read past: what lies behind a batch does not change the outcome", () => {
    fc.assert(
      fc.property(batch, fc.nat(), fc.constantFrom(0, 0xff), (value, position, filler) => {
        const sound = encodeBatch(value.messages, { producer: value.producer });
        const damaged = sound.slice();
        damaged[position % damaged.length]! ^= 0x41;
        for (const bytes of [sound, damaged]) {
          const around = new Uint8Array(bytes.length + 200).fill(filler);
          around.set(bytes, 100);
          const outcome = (act: () => unknown): unknown => {
            try {
              return act();
            } catch (error) {
              return error instanceof IggyError ? error.code : error;
            }
          };
          const inside = around.subarray(100, 100 + bytes.length);
          expect(outcome(() => verifyBatch(inside))).toEqual(outcome(() => verifyBatch(bytes)));
          expect(outcome(() => verifyBatch(around, 100, bytes.length))).toEqual(outcome(() => verifyBatch(bytes)));
          expect(outcome(() => readAll(inside))).toEqual(outcome(() => readAll(bytes)));
        }
      }),
    );
  });
});
