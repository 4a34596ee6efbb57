import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IggyError } from "../../src/errors/index.js";
import {
  EvictionHeader,
  FrameError,
  prepareIdentity,
  PrepareHeader,
  ReplyHeader,
  RequestHeader,
  validateEvictionHeader,
  validatePrepareHeader,
  validateRequestHeader,
  verifyPrepare,
  writeCommittedReply,
  writeCommittedReplyOf,
  writePrepareHeader,
  writeReplyHeader,
  writeRequestHeader,
} from "../../src/frames/index.js";
import { toHex } from "../golden.js";

const u8 = fc.nat(0xff);
const u32 = fc.nat(0xffff_ffff);
const u64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const u128 = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
const common = { cluster: u128, view: u32, release: u32, replica: u8, bodyLength: fc.nat(0xffff_feff) };

const request = fc.record({
  ...common,
  client: u128,
  operation: u8,
  requestChecksum: u128,
  timestamp: u64,
  request: u64,
  session: u64,
  userId: u32,
  commandCode: u32,
  partitionIncarnation: u64,
  ownerGeneration: u64,
  minimumMetadataOp: u64,
  metadataWatermark: u64,
  group: u64,
});
const reply = fc.record({
  ...common,
  client: u128,
  operation: u8,
  request: u64,
  requestChecksum: u128,
  op: u64,
  commit: u64,
  timestamp: u64,
  status: u32,
  isCommitted: fc.boolean(),
  partitionIncarnation: u64,
});
const prepare = fc.record({
  ...common,
  client: u128,
  op: u64,
  timestamp: u64,
  operation: u8,
  group: u64,
  checksumBody: u64,
  parent: u64,
  requestChecksum: u128,
  commit: u64,
  request: u64,
  userId: u32,
  retryCapacity: u32,
  partitionIncarnation: u64,
  session: u64,
});

const written = (write: (bytes: Uint8Array, offset: number) => void): Uint8Array => {
  const bytes = new Uint8Array(300).fill(0xaa);
  write(bytes, 20);
  expect(bytes.subarray(0, 20).every((byte) => byte === 0xaa)).toBe(true);
  expect(bytes.subarray(276).every((byte) => byte === 0xaa)).toBe(true);
  return bytes.subarray(20, 276);
};

describe("headers", () => {
  it("of requests read back as what was written", () => {
    const header = new RequestHeader();
    fc.assert(
      fc.property(request, (fields) => {
        const bytes = written((into, offset) => {
          writeRequestHeader(into, offset, fields);
        });
        header.at(bytes);
        expect([header.client, header.requestChecksum, header.requestBig, header.sessionBig, header.cluster]).toEqual([
          fields.client,
          fields.requestChecksum,
          fields.request,
          fields.session,
          fields.cluster,
        ]);
        expect([header.bodyLength, header.view, header.release, header.replica, header.operation]).toEqual([
          fields.bodyLength,
          fields.view,
          fields.release,
          fields.replica,
          fields.operation,
        ]);
        expect([header.userId, header.commandCode]).toEqual([fields.userId, fields.commandCode]);
        expect([header.timestamp, header.partitionIncarnation, header.ownerGeneration, header.group]).toEqual(
          [fields.timestamp, fields.partitionIncarnation, fields.ownerGeneration, fields.group].map(Number),
        );
        expect([header.minimumMetadataOp, header.metadataWatermark]).toEqual(
          [fields.minimumMetadataOp, fields.metadataWatermark].map(Number),
        );
      }),
    );
  });

  it("of replies read back as what was written", () => {
    const header = new ReplyHeader();
    fc.assert(
      fc.property(reply, (fields) => {
        const bytes = written((into, offset) => {
          writeReplyHeader(into, offset, fields);
        });
        header.at(bytes);
        expect([header.client, header.requestChecksum, header.requestBig, header.opBig, header.commitBig]).toEqual([
          fields.client,
          fields.requestChecksum,
          fields.request,
          fields.op,
          fields.commit,
        ]);
        expect([header.operation, header.status, header.isCommitted, header.partitionIncarnationBig]).toEqual([
          fields.operation,
          fields.status,
          fields.isCommitted,
          fields.partitionIncarnation,
        ]);
      }),
    );
  });

  it("of prepares carry an identity that a later view keeps and any other change breaks", () => {
    const header = new PrepareHeader();
    fc.assert(
      fc.property(prepare, u32, fc.integer({ min: 16, max: 255 }), (fields, view, position) => {
        const bytes = written((into, offset) => {
          writePrepareHeader(into, offset, fields);
        });
        header.at(bytes);
        expect([header.client, header.parent, header.requestChecksum, header.checksumBody, header.requestBig]).toEqual([
          fields.client,
          fields.parent,
          fields.requestChecksum,
          fields.checksumBody,
          fields.request,
        ]);
        expect([header.op, header.commit, header.timestamp, header.group, header.session]).toEqual(
          [fields.op, fields.commit, fields.timestamp, fields.group, fields.session].map(Number),
        );
        expect([header.userId, header.retryCapacity]).toEqual([fields.userId, fields.retryCapacity]);
        expect(header.checksum).toBe(prepareIdentity(bytes));
        new DataView(bytes.buffer, bytes.byteOffset).setUint32(52, view, true);
        expect(verifyPrepare(bytes)).toBe(true);
        if (position >= 52 && position < 56) return;
        bytes[position]! ^= 1;
        expect(verifyPrepare(bytes)).toBe(false);
      }),
    );
  });

  it("of committed replies are the same from fields and from the prepare", () => {
    fc.assert(
      fc.property(prepare, fc.boolean(), fc.nat(1000), (fields, isPending, bodyLength) => {
        const prepared = new Uint8Array(256);
        writePrepareHeader(prepared, 0, { ...fields, release: 0 });
        const fromPrepare = written((into, offset) => {
          writeCommittedReplyOf(into, offset, new PrepareHeader().at(prepared), { bodyLength, isPending });
        });
        const fromFields = written((into, offset) => {
          writeCommittedReply(into, offset, { ...fields, release: 0, bodyLength, isPending });
        });
        expect(toHex(fromPrepare)).toBe(toHex(fromFields));
      }),
    );
  });

  it("of any 256 bytes give a verdict, and shorter ones a typed error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 300 }), fc.constantFrom(5, 6, 13, 19), (bytes, command) => {
        if (bytes.length > 60) bytes[60] = command;
        for (const judge of [
          () => validateRequestHeader(new RequestHeader().at(bytes)),
          () => validateEvictionHeader(new EvictionHeader().at(bytes)),
          () => validatePrepareHeader(new PrepareHeader().at(bytes)),
        ]) {
          if (bytes.length < 256) expect(judge).toThrow(FrameError);
          else expect(judge() ?? new FrameError("InvalidField", "")).toBeInstanceOf(FrameError);
        }
        if (bytes.length < 256) expect(() => verifyPrepare(bytes)).toThrow(IggyError);
        else expect(typeof verifyPrepare(bytes)).toBe("boolean");
      }),
    );
  });
});

describe("numbers that do not fit", () => {
  const header = new Uint8Array(256);
  const base = { client: 1n, operation: 2 };
  it.each([
    { ...base, client: -1n },
    { ...base, client: 1n << 128n },
    { ...base, operation: 256 },
    { ...base, request: -1 },
    { ...base, request: 2 ** 53 },
    { ...base, request: 1n << 64n },
    { ...base, session: 0.5 },
    { ...base, userId: 2 ** 32 },
    { ...base, bodyLength: 0xffff_ffff },
  ])("are refused with a typed error: %o", (fields) => {
    expect(() => {
      writeRequestHeader(header, 0, fields);
    }).toThrow(IggyError);
  });

  it("compare as different from every exact number", () => {
    writeRequestHeader(header, 0, { ...base, request: (1n << 53n) + 1n });
    const view = new RequestHeader().at(header);
    expect(view.requestBig).toBe((1n << 53n) + 1n);
    expect(view.request).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
  });
});
