import {
  encodeBatch,
  ErrorCode,
  MessageCursor,
  type MessageInput,
  sliceBatch,
  stampBatch,
  verifyBatch,
} from "@iggy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { portableCipher } from "../../src/encryption/index.js";
import { refusingCipher, SealingCipher } from "../../src/encryption/sealing-cipher.js";

const cipherOf = (byte: number): SealingCipher => new SealingCipher(portableCipher(new Uint8Array(32).fill(byte)));
const cipher = cipherOf(7);

const messages: fc.Arbitrary<MessageInput[]> = fc.array(
  fc.record(
    {
      id: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
      payload: fc.uint8Array({ maxLength: 80 }),
      userHeaders: fc.uint8Array({ maxLength: 40 }),
      originTimestamp: fc.integer({ min: 1_772_000_000_000_000, max: 1_772_000_000_001_000 }),
    },
    { requiredKeys: ["payload", "originTimestamp"] },
  ),
  { minLength: 1, maxLength: 6 },
);

let nextOffset = 100;
const stamped = (batch: Uint8Array): Uint8Array => {
  const stampedBatch = new Uint8Array(batch);
  stampBatch(stampedBatch, 0, { partitionId: 3, baseOffset: nextOffset, baseTimestamp: 1_772_000_000_000_001 });
  return stampedBatch;
};

/** A batch as the log holds it, and as a client would get it without encryption. */
function stored(
  inputs: readonly MessageInput[],
  by = cipher,
): { readonly plain: Uint8Array; readonly log: Uint8Array } {
  const batch = encodeBatch(inputs, { producer: { id: 42n, epoch: 1, baseSequence: 7 } });
  const sealed = by.sealBatch(batch);
  if (typeof sealed === "number") throw new Error(`refused with ${sealed}`);
  const both = { plain: stamped(batch), log: stamped(sealed) };
  nextOffset += inputs.length;
  return both;
}

const opened = (pieces: readonly Uint8Array[], by = cipher): Uint8Array | number => {
  const records = by.openRecords(pieces);
  if (typeof records === "number") return records;
  const joined = Buffer.concat(records.pieces);
  expect(records.bytes).toBe(joined.length);
  const cursor = new MessageCursor().records(joined);
  let [count, last] = [0, -1];
  while (cursor.next()) {
    count++;
    last = cursor.offset;
  }
  expect(records).toMatchObject({ messagesCount: count, lastOffset: last });
  return new Uint8Array(joined);
};

const message = (text: string): MessageInput => ({
  payload: Buffer.from(text),
  originTimestamp: 1_772_000_000_000_000,
});
const three = (label: string): MessageInput[] => [1, 2, 3].map((at) => message(`${label} ${at}`));

describe("a sealed batch", () => {
  it("is sound, holds no plaintext, and opens to what the producer sent", () => {
    fc.assert(
      fc.property(messages, (inputs) => {
        const { plain, log } = stored(inputs);
        expect(verifyBatch(log)).toBe(log.length);
        const sections = inputs.flatMap(({ payload, userHeaders }) => [payload, userHeaders ?? new Uint8Array(0)]);
        for (const section of sections) {
          if (section.length >= 8) expect(Buffer.from(log).includes(Buffer.from(section))).toBe(false);
        }
        const growth = sections.filter((section, at) => at % 2 === 0 || section.length > 0).length * 28;
        expect(log.length).toBe(plain.length + growth);
        expect(opened([log])).toEqual(plain);
      }),
      { numRuns: 50 },
    );
  });

  it("is another one every time", () => {
    const batch = encodeBatch([message("again")]);
    expect(cipher.sealBatch(batch)).not.toEqual(cipher.sealBatch(batch));
  });

  it("leaves the batch of the producer as it was", () => {
    const batch = encodeBatch(three("kept"));
    const before = batch.slice();
    cipher.sealBatch(batch);
    expect(batch).toEqual(before);
  });

  it("is refused when it would be longer than a record of the log may be", () => {
    const recordMax = 256 * 1024 * 1024;
    const batchOf = (length: number): Uint8Array => {
      const batch = new Uint8Array(length);
      batch.set(encodeBatch([message("")]));
      const view = new DataView(batch.buffer);
      view.setUint32(32, length, true);
      view.setUint32(256 + 36, length - 256 - 48, true);
      return batch;
    };
    expect(cipher.sealBatch(batchOf(recordMax - 27))).toBe(ErrorCode.InvalidSizeBytes);
  });
});

describe("a read", () => {
  it("gives whole records and cut ones, however they lie in their pieces", () => {
    const [first, second, last] = ["a", "b", "c"].map((label) => stored(three(label)));
    if (first === undefined || second === undefined || last === undefined) throw new Error("three batches");
    const head = sliceBatch(first.log, 0, 1, 3);
    const tail = sliceBatch(last.log, 0, 0, 2);
    const cut = (batch: Uint8Array, from: number, to: number): Uint8Array => {
      const { header, frames } = sliceBatch(batch, 0, from, to);
      return new Uint8Array(Buffer.concat([header, frames]));
    };
    const expected = new Uint8Array(Buffer.concat([cut(first.plain, 1, 3), second.plain, cut(last.plain, 0, 2)]));
    expect(opened([head.header, head.frames, second.log, tail.header, tail.frames])).toEqual(expected);
    // Neighbours may come as one piece.
    expect(opened([Buffer.concat([head.header, head.frames, second.log]), tail.header, tail.frames])).toEqual(expected);
  });

  it("does not change what is stored", () => {
    const { log } = stored(three("kept"));
    const before = log.slice();
    opened([log]);
    expect(log).toEqual(before);
  });

  it("with another key is refused with 72", () => {
    expect(cipherOf(8).openRecords([stored(three("secret")).log])).toBe(ErrorCode.CannotDecryptData);
  });

  it("of a record with any bit changed is refused, whatever its checksums say", () => {
    fc.assert(
      fc.property(messages, fc.nat(), fc.nat(7), (inputs, at, bit) => {
        const { log } = stored(inputs);
        log[at % log.length]! ^= 1 << bit;
        expect([
          ErrorCode.CannotDecryptData,
          ErrorCode.InvalidMessageChecksum,
          ErrorCode.InvalidBatchChecksum,
        ]).toContain(opened([log]));
      }),
      { numRuns: 150 },
    );
  });

  it("of sections that were changed together with their checksums is refused with 72", () => {
    const { log } = stored([message("a message of some length")]);
    for (let at = 256 + 48; at < log.length; at++) {
      const forged = log.slice();
      forged[at]! ^= 1;
      // The checksums of whoever forged it, as a producer computes them.
      const cursor = new MessageCursor().records(forged);
      cursor.next();
      const resealed = stamped(encodeBatch([{ payload: cursor.payload, originTimestamp: cursor.originTimestamp }]));
      expect(opened([resealed])).toBe(ErrorCode.CannotDecryptData);
    }
  });

  it("of a section too short to be one is refused with 72", () => {
    for (const length of [0, 1, 27]) {
      const short = stamped(encodeBatch([{ payload: new Uint8Array(length), originTimestamp: 1 }]));
      expect(opened([short])).toBe(ErrorCode.CannotDecryptData);
    }
  });

  it("serves what precedes a record that does not open", () => {
    const [first, second] = [stored(three("a")), stored(three("b"), cipherOf(8))];
    expect(opened([first.log, second.log])).toEqual(first.plain);
    const damaged = stored(three("c")).log;
    damaged[310]! ^= 1;
    expect(opened([first.log, damaged])).toEqual(first.plain);
    expect(opened([damaged, first.log])).toBe(ErrorCode.InvalidMessageChecksum);
    // Not even the length can be believed.
    const lengthless = first.log.slice();
    lengthless.fill(0, 32, 40);
    expect(opened([lengthless])).toBe(ErrorCode.InvalidBatchChecksum);
    expect(opened([first.log.subarray(0, 100)])).toBe(ErrorCode.InvalidBatchChecksum);
  });
});

it("a stream without its key takes nothing and gives nothing", () => {
  const refusing = refusingCipher(ErrorCode.CannotDecryptData);
  expect(refusing.refusal).toBe(ErrorCode.CannotDecryptData);
  expect(refusing.sealBatch(encodeBatch([message("x")]))).toBe(ErrorCode.CannotDecryptData);
  expect(refusing.openRecords([stored(three("a")).log])).toBe(ErrorCode.CannotDecryptData);
});
