import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WireError } from "../../src/codec/index.js";
import {
  BatchView,
  encodeBatch,
  MessageCursor,
  type MessageInput,
  rewriteBatch,
  type RewriteSection,
  rewrittenBatchSize,
  sliceBatch,
  stampBatch,
  verifyBatch,
} from "../../src/messages/index.js";

const messages: fc.Arbitrary<MessageInput[]> = fc.array(
  fc.record(
    {
      id: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
      payload: fc.uint8Array({ maxLength: 200 }),
      userHeaders: fc.uint8Array({ maxLength: 40 }),
      originTimestamp: fc.integer({ min: 1_772_000_000_000_000, max: 1_772_000_000_001_000 }),
    },
    { requiredKeys: ["payload", "originTimestamp"] },
  ),
  { minLength: 1, maxLength: 12 },
);
const producer = { id: 42n, epoch: 3, baseSequence: 7 };

/** Two bytes in front, and every byte turned around. */
const GROWTH = 2;
const wrap: RewriteSection = (source, target) => {
  target.fill(0xaa, 0, GROWTH);
  source.forEach((byte, at) => (target[at + GROWTH] = byte ^ 0xff));
  return true;
};
const unwrap: RewriteSection = (source, target) => {
  source.subarray(GROWTH).forEach((byte, at) => (target[at] = byte ^ 0xff));
  return true;
};

function rewritten(batch: Uint8Array, growth: number, section: RewriteSection): Uint8Array {
  const size = rewrittenBatchSize(batch, growth);
  if (size === undefined) throw new Error("a section is too short");
  const target = new Uint8Array(size).fill(0x55);
  if (!rewriteBatch(batch, target, growth, section)) throw new Error("a section was refused");
  return target;
}

const facts = (batch: Uint8Array): object[] => {
  const cursor = new MessageCursor().records(batch);
  const seen: object[] = [];
  while (cursor.next()) {
    const { id, offset, timestamp, originTimestamp, payloadLength, userHeadersLength } = cursor;
    seen.push({ id, offset, timestamp, originTimestamp, payloadLength, userHeadersLength });
  }
  return seen;
};

describe("a rewritten batch", () => {
  it("is sound, keeps all but its sections, and comes back byte by byte", () => {
    fc.assert(
      fc.property(messages, fc.boolean(), (inputs, isStamped) => {
        const batch = encodeBatch(inputs, { producer });
        if (isStamped) stampBatch(batch, 0, { partitionId: 4, baseOffset: 90, baseTimestamp: 1_772_000_000_000_009 });
        const longer = rewritten(batch, GROWTH, wrap);
        expect(verifyBatch(longer)).toBe(longer.length);
        expect(new BatchView().at(longer).producer()).toEqual(producer);
        const grown = facts(batch).map((message, at) => {
          const headers = inputs[at]?.userHeaders?.length ?? 0;
          return {
            ...message,
            payloadLength: (inputs[at]?.payload.length ?? 0) + GROWTH,
            userHeadersLength: headers === 0 ? 0 : headers + GROWTH,
          };
        });
        expect(facts(longer)).toEqual(grown);
        expect(rewritten(longer, -GROWTH, unwrap)).toEqual(batch);
      }),
    );
  });

  it("may be cut first: the slice of a rewritten batch is the rewritten slice", () => {
    const inputs = Array.from({ length: 5 }, (_, at) => ({
      payload: Uint8Array.of(at, 1),
      originTimestamp: 1000 + at,
    }));
    const batch = encodeBatch(inputs);
    const joined = ({ header, frames }: { header: Uint8Array; frames: Uint8Array }): Uint8Array =>
      Uint8Array.from([...header, ...frames]);
    const cutLater = joined(sliceBatch(rewritten(batch, GROWTH, wrap), 0, 1, 4));
    expect(cutLater).toEqual(rewritten(joined(sliceBatch(batch, 0, 1, 4)), GROWTH, wrap));
  });

  it("takes an empty payload as a section, and missing headers as none", () => {
    const batch = encodeBatch([{ payload: new Uint8Array(0), originTimestamp: 1 }]);
    const sections: number[] = [];
    rewritten(batch, GROWTH, (source, target) => {
      sections.push(source.length, target.length);
      return true;
    });
    expect(sections).toEqual([0, GROWTH]);
  });
});

describe("a batch that can not be rewritten", () => {
  it.each([
    ["payload", { payload: Uint8Array.of(1), userHeaders: Uint8Array.of(1, 2, 3) }],
    ["user headers", { payload: Uint8Array.of(1, 2, 3), userHeaders: Uint8Array.of(1) }],
  ])("has too short a section: %s", (_what, message) => {
    expect(rewrittenBatchSize(encodeBatch([{ ...message, originTimestamp: 1 }]), -GROWTH)).toBeUndefined();
  });

  it("holds a section that is refused", () => {
    const batch = encodeBatch([1, 2, 3].map((byte) => ({ payload: Uint8Array.of(byte), originTimestamp: 1 })));
    const target = new Uint8Array(rewrittenBatchSize(batch, GROWTH) ?? 0);
    let calls = 0;
    expect(rewriteBatch(batch, target, GROWTH, () => ++calls < 2)).toBe(false);
    expect(calls).toBe(2);
  });

  it("is no batch", () => {
    expect(() => rewrittenBatchSize(new Uint8Array(300), 1)).toThrow(WireError);
    const cut = encodeBatch([{ payload: Uint8Array.of(1, 2, 3), originTimestamp: 1 }]).subarray(0, -1);
    expect(() => rewrittenBatchSize(cut, 1)).toThrow(WireError);
  });
});
