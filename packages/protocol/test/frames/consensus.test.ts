import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode, encode, IggyError, partitionStatuses, registerRequest, WireError } from "../../src/index.js";
import {
  blankEntry,
  FrameError,
  isBlankEntry,
  lifecycleCompletion,
  markAsPrepare,
  markAsRepair,
  prepareIdentity,
  PrepareHeader,
  RebalanceKind,
  type ReplicaFrame,
  replicaFrames,
  reportedSessions,
  suffixHeaders,
  validatePrepareHeader,
  verifyPrepare,
  writePrepareHeader,
} from "../../src/frames/index.js";
import { xxh3_64 } from "../../src/hash/index.js";
import { fromHex, loadVectors, toHex } from "../golden.js";
import { randomBytes } from "../random-bytes.js";

interface Coded {
  readonly code: number;
  readonly name: string;
}
type Fields = Readonly<Record<string, string | number | Coded>> & {
  readonly command: Coded;
  readonly cluster: string;
  readonly view: number;
  readonly replica: number;
  readonly size: number;
  readonly checksum: string;
  readonly checksum_body: string;
};
interface Case {
  readonly type: string;
  readonly name: string;
  readonly fields: Fields;
  readonly header_hex: string;
  readonly body_hex: string;
}
interface Negative {
  readonly type: string;
  readonly name: string;
  readonly hex: string;
  readonly error: { readonly kind: string };
}
const vectors: { readonly cases: readonly Case[]; readonly negative: readonly Negative[] } = loadVectors("consensus");
const isPrepare = ({ type }: { readonly type: string }): boolean => type === "Prepare" || type === "RepairPrepare";

/** The frames under one type for all; each test gives them fields of their own shape. */
const frames: Readonly<Record<string, ReplicaFrame<object>>> = Object.fromEntries(
  Object.entries(replicaFrames).map(([name, frame]) => [name, frame as never]),
);
const frameOf = (name: string): ReplicaFrame<object> => frames[name]!;

const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const rebalanceNames = Object.keys(RebalanceKind);
const kindNames: Readonly<Record<string, readonly string[]>> = {
  PrepareProgress: ["probe", "reply"],
  PrimaryRebalance: rebalanceNames,
  SegmentDelete: ["Query", "Resolved", "Retry"],
};
const flags = new Set(["ready", "available", "unavailable_transient", "incomplete"]);
const prefix = new Set(["checksum", "checksum_body", "cluster", "size", "view", "release", "command", "replica"]);

/** The fields of a vector in the types of this package. */
const typedFields = ({ command, ...fields }: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([key]) => !prefix.has(key))
      .map(([key, value]): [string, unknown] => {
        if (flags.has(key)) return [camel(key), value === 1];
        if (key === "kind") return [key, kindNames[command.name]?.[Number(value)]];
        if (typeof value === "object") return [camel(key), key === "outcome" ? value.name : value.code];
        return [camel(key), typeof value === "string" ? BigInt(value) : value];
      }),
  );
const senderOf = (fields: Fields): { cluster: bigint; view: number; replica: number } => ({
  cluster: BigInt(fields.cluster),
  view: fields.view,
  replica: fields.replica,
});

describe("sealed replica frames", () => {
  const cases = vectors.cases.filter((vector) => !isPrepare(vector));

  it.each(cases)("$type $name encodes to the golden frame", ({ fields, header_hex, body_hex }) => {
    const frame = frameOf(fields.command.name).encode(senderOf(fields), typedFields(fields), fromHex(body_hex));
    expect(toHex(frame)).toBe(header_hex + body_hex);
  });

  it.each(cases)("$type $name decodes to the golden fields", ({ fields, header_hex, body_hex }) => {
    const { header, body } = frameOf(fields.command.name).decode(fromHex(header_hex + body_hex));
    expect(header).toEqual({
      ...senderOf(fields),
      size: fields.size,
      checksumBody: BigInt(fields.checksum_body),
      ...typedFields(fields),
    });
    expect(toHex(body)).toBe(body_hex);
  });

  it("covers every sealed command with a vector", () => {
    expect(new Set(cases.map(({ fields }) => fields.command.name))).toEqual(new Set(Object.keys(replicaFrames)));
  });
});

describe("prepares", () => {
  const cases = vectors.cases.filter(isPrepare);

  it.each(cases)("$type $name writes the golden header, identity included", ({ type, fields, header_hex }) => {
    const header = new Uint8Array(256);
    const { operation, ...rest } = typedFields(fields) as { readonly operation: number } & Record<string, never>;
    writePrepareHeader(header, 0, {
      ...senderOf(fields),
      ...rest,
      operation,
      bodyLength: fields.size - 256,
      checksumBody: BigInt(fields.checksum_body),
    } as never);
    if (type === "RepairPrepare") markAsRepair(header);
    expect(toHex(header)).toBe(header_hex);
  });

  it.each(cases)("$type $name reads as the golden fields", ({ fields, header_hex, body_hex }) => {
    const bytes = fromHex(header_hex);
    const header = new PrepareHeader().at(bytes);
    expect(validatePrepareHeader(header)).toBeUndefined();
    expect(verifyPrepare(bytes)).toBe(true);
    markAsPrepare(bytes);
    expect(verifyPrepare(bytes)).toBe(true);
    const golden = typedFields(fields);
    expect({
      client: header.client,
      parent: header.parent,
      requestChecksum: header.requestChecksum,
      op: BigInt(header.op),
      commit: BigInt(header.commit),
      timestamp: BigInt(header.timestamp),
      request: header.requestBig,
      operation: header.operation,
      group: BigInt(header.group),
      userId: header.userId,
      retryCapacity: header.retryCapacity,
      partitionIncarnation: BigInt(header.partitionIncarnation),
      session: header.sessionBig,
    }).toEqual(golden);
    if (header.checksumBody !== 0n) expect(xxh3_64(fromHex(body_hex))).toBe(header.checksumBody);
  });

  it("keep their identity in a later view", () => {
    const [first, resent] = ["metadata_op_2_register", "metadata_op_2_resent_in_view_9_same_identity"].map((name) =>
      fromHex(cases.find((vector) => vector.name === name)?.header_hex ?? ""),
    );
    expect(new PrepareHeader().at(resent!).view).toBe(9);
    expect(prepareIdentity(resent!)).toBe(prepareIdentity(first!));
  });
});

describe("malformed replica frames", () => {
  const kinds: Readonly<Record<string, string>> = {
    FrameChecksumMismatch: "ChecksumMismatch",
    CommitInvalidSize: "InvalidSize",
    InvalidBitPattern: "UnknownDiscriminant",
  };
  const headers = vectors.negative.filter(({ type }) => type !== "ConsumerSession");

  it.each(headers)("$type $name is refused as $error.kind", ({ type, hex, error }) => {
    const judge = (): void => {
      if (type !== "Prepare") {
        frameOf(type).decodeHeader(fromHex(hex));
        return;
      }
      const fault = validatePrepareHeader(new PrepareHeader().at(fromHex(hex)));
      if (fault !== undefined) throw fault;
    };
    expect(judge).toThrow(FrameError);
    expect(judge).toThrow(expect.objectContaining({ kind: kinds[error.kind] ?? error.kind }) as Error);
  });

  it("a session entry of zeros is refused", () => {
    const golden = vectors.negative.find(({ type }) => type === "ConsumerSession");
    expect(() => decode(reportedSessions, fromHex(golden?.hex ?? ""))).toThrow(
      expect.objectContaining({ kind: golden?.error.kind }) as Error,
    );
  });

  it("any changed bit of a sealed frame is noticed", () => {
    fc.assert(
      fc.property(fc.constantFrom(...vectors.cases.filter((vector) => !isPrepare(vector))), fc.nat(), (vector, at) => {
        const frame = fromHex(vector.header_hex + vector.body_hex);
        frame[at % frame.length]! ^= 1 << (at & 7);
        expect(() => frameOf(vector.fields.command.name).decode(frame)).toThrow(FrameError);
      }),
    );
  });

  it("any bytes are a frame or a FrameError, and a sealed frame with set reserved bytes is none", () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(frames)), fc.nat(), fc.nat(400), (frame, seed, length) => {
        const bytes = randomBytes(length, seed);
        if (length > 60) bytes[60] = frame.command;
        expect(() => frame.decode(bytes)).toThrow(FrameError);
      }),
    );
  });
});

describe("bodies of replica frames", () => {
  const bodyOf = (name: string): Uint8Array =>
    fromHex(vectors.cases.find((vector) => vector.name === name)?.body_hex ?? "");

  it("of session reports are pairs of client and session", () => {
    const body = bodyOf("heartbeat");
    const sessions = decode(reportedSessions, body);
    expect(sessions).toHaveLength(2);
    expect(toHex(encode(reportedSessions, sessions))).toBe(toHex(body));
  });

  it("of probes are partition statuses, of forwarded logins logged registrations", () => {
    expect(toHex(encode(partitionStatuses, decode(partitionStatuses, bodyOf("MetadataProbe"))))).toBe(
      toHex(bodyOf("MetadataProbe")),
    );
    const register = vectors.cases.find(({ type }) => type === "ForwardRegister");
    const body = fromHex(register?.body_hex ?? "");
    expect(toHex(encode(registerRequest, decode(registerRequest, body)))).toBe(register?.body_hex);
  });

  it("of lifecycle completions name 1 to 1024 partitions", () => {
    const completion = {
      metadataOp: 9n,
      streamId: 1,
      partitions: [{ topicId: 2, partitionId: 3, partitionOp: 4n }],
    };
    expect(decode(lifecycleCompletion, encode(lifecycleCompletion, completion))).toEqual(completion);
    expect(() => encode(lifecycleCompletion, { ...completion, partitions: [] })).toThrow(WireError);
  });

  it("of view changes are prepare headers, highest op first, with blanks for unknown ops", () => {
    const entries = suffixHeaders(bodyOf("two_entry_suffix"));
    expect(entries.map((entry) => new PrepareHeader().at(entry).op)).toEqual([2, 1]);
    expect(entries.every((entry) => verifyPrepare(entry) && !isBlankEntry(entry, 2n))).toBe(true);
    const blank = blankEntry(7n);
    expect(isBlankEntry(blank, 7n)).toBe(true);
    expect(isBlankEntry(blank, 8n)).toBe(false);
    for (const at of [0, 48, 60, 61, 175, 184, 208, 255]) {
      const touched = blank.slice();
      touched[at]! ^= 1;
      expect(isBlankEntry(touched, 7n)).toBe(false);
    }
    expect(() => suffixHeaders(new Uint8Array(257))).toThrow(FrameError);
    expect(() => suffixHeaders(new Uint8Array(256 * 129))).toThrow(FrameError);
  });
});

describe("writing a frame that breaks its own rules", () => {
  const sender = { cluster: 1n, view: 2, replica: 0 };
  it.each([
    [
      "DoViewChange",
      {
        op: 1n,
        commit: 2n,
        group: 1n,
        logView: 0,
        flags: 0,
        partitionIncarnation: 0n,
        nackBitset: 0n,
        presentBitset: 0n,
      },
    ],
    ["RequestPrepares", { nonce: 1n, fromOp: 0n, toOp: 1n, group: 1n, partitionIncarnation: 0n }],
    ["ForwardLogout", { client: 0n, nonce: 1n, session: 1n, request: 1n }],
    ["ForwardLogoutResult", { nonce: 1n, client: 1n, commit: 1n, outcome: "Canceled" }],
  ])("%s is refused", (name, fields) => {
    expect(() => frameOf(name).encode(sender, fields)).toThrow(IggyError);
  });
});
