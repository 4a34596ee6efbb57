import { decodeExact, fetchMessages, pollMessages } from "@iggy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fetchReplyHead, pollReplyHead } from "../../src/partitions/reads/reply-heads.js";
import { detachedFromLargeBuffer } from "../../src/partitions/writes/incoming-batch.js";

const number = fc.maxSafeNat();
const u32 = fc.nat(0xffff_ffff);
const context = fc.record({ incarnation: number, ownerGeneration: number, metadataOp: number });
const wide = (values: { incarnation: number; ownerGeneration: number; metadataOp: number }) => ({
  incarnation: BigInt(values.incarnation),
  ownerGeneration: BigInt(values.ownerGeneration),
  metadataOp: BigInt(values.metadataOp),
});

describe("hand-written reply heads", () => {
  it("of a poll read as the declared layout", () => {
    fc.assert(
      fc.property(u32, number, u32, context, (partitionId, currentOffset, messagesCount, served) => {
        const head = pollReplyHead(partitionId, currentOffset, messagesCount, served);
        expect(decodeExact(pollMessages.response, head)).toEqual({
          partitionId,
          currentOffset: BigInt(currentOffset),
          messagesCount,
          context: wide(served),
          records: new Uint8Array(0),
        });
      }),
    );
  });

  it("of a fetch read as the declared layout", () => {
    const read = fc.record({
      partitionId: u32,
      code: fc.constant(0 as const),
      currentOffset: number,
      messagesCount: u32,
      context,
      nextOffset: number,
      recordsBytes: fc.constant(0),
    });
    const refused = fc.record({ partitionId: u32, code: fc.integer({ min: 1, max: 6000 }) });
    fc.assert(
      fc.property(fc.array(fc.oneof(read, refused), { maxLength: 5 }), (sections) => {
        const { sections: decoded } = decodeExact(fetchMessages.response, fetchReplyHead(sections));
        expect(decoded).toEqual(
          sections.map((section) => ({
            partitionId: section.partitionId,
            status: section.code,
            currentOffset: BigInt("context" in section ? section.currentOffset : 0),
            messagesCount: "context" in section ? section.messagesCount : 0,
            context: wide(
              "context" in section ? section.context : { incarnation: 0, ownerGeneration: 0, metadataOp: 0 },
            ),
            nextOffset: BigInt("context" in section ? section.nextOffset : 0),
            recordsLen: 0,
          })),
        );
      }),
    );
  });
});

describe("a batch that is kept", () => {
  const viewOf = (length: number, buffer: number) => new Uint8Array(buffer).subarray(100, 100 + length);

  it("is copied out of a much larger buffer, and used as it is otherwise", () => {
    const small = viewOf(600, 64 * 1024);
    const copy = detachedFromLargeBuffer(small);
    expect(copy.buffer.byteLength).toBe(600);
    expect(copy).toEqual(small);
    for (const batch of [viewOf(20_000, 64 * 1024), viewOf(600, 2_000), viewOf(250_000, 1024 * 1024)]) {
      expect(detachedFromLargeBuffer(batch)).toBe(batch);
    }
    expect(detachedFromLargeBuffer(viewOf(100_000, 1024 * 1024)).buffer.byteLength).toBe(100_000);
  });
});
