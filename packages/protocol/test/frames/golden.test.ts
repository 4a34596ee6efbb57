import { describe, expect, it } from "vitest";
import {
  EvictionHeader,
  evictionErrorCode,
  FrameError,
  ReplyHeader,
  RequestHeader,
  validateEvictionHeader,
  validateRequestHeader,
  writeCommittedReply,
  writeEviction,
  writeReplyEcho,
  writeReplyHeader,
  writeRequestHeader,
} from "../../src/frames/index.js";
import { fromHex, loadVectors, toHex } from "../golden.js";

interface Coded {
  readonly code: number;
  readonly name: string;
}
interface Common {
  readonly cluster: string;
  readonly size: number;
  readonly view: number;
  readonly release: number;
  readonly replica: number;
  readonly client: string;
}
interface RequestVector {
  readonly name: string;
  readonly fields: Common & {
    readonly request_checksum: string;
    readonly timestamp: string;
    readonly request: string;
    readonly operation: Coded;
    readonly session: string;
    readonly user_id: number;
    readonly reserved_hex: string;
    readonly partition_incarnation: string;
    readonly owner_generation: string;
    readonly minimum_metadata_op: string;
    readonly metadata_watermark?: string;
    readonly group?: string;
  };
  readonly header_hex: string;
}
interface ReplyVector {
  readonly name: string;
  readonly fields: Common & {
    readonly request_checksum: string;
    readonly op: string;
    readonly commit: string;
    readonly timestamp: string;
    readonly request: string;
    readonly operation: Coded;
    readonly status: number;
    readonly partition_incarnation: string;
    readonly committed_result: boolean;
  };
  readonly header_hex: string;
}
interface EvictionVector {
  readonly name: string;
  readonly fields?: Common & {
    readonly reason: Coded;
    readonly server_protocol_version: number;
    readonly server_protocol_version_min: number;
  };
  readonly server_protocol_version?: number;
  readonly server_protocol_version_min?: number;
  readonly client_error: Coded;
  readonly header_hex?: string;
}
interface FrameVectors {
  readonly requests: readonly RequestVector[];
  readonly routed_requests: readonly RequestVector[];
  readonly replies: readonly ReplyVector[];
  readonly evictions: readonly EvictionVector[];
  readonly negative: readonly {
    readonly type: string;
    readonly name: string;
    readonly hex: string;
    readonly error: { readonly kind: string };
  }[];
}

const vectors: FrameVectors = loadVectors("frames");
/** Kinds of the vectors that this library tells apart under another name. */
const kindOf = (kind: string): readonly string[] =>
  kind === "InvalidBitPattern" ? ["UnknownCommand", "UnknownDiscriminant"] : [kind];

const le32 = (hex: string): number => new DataView(fromHex(hex).buffer).getUint32(0, true);

const common = (fields: Common) => ({
  cluster: BigInt(fields.cluster),
  view: fields.view,
  release: fields.release,
  replica: fields.replica,
  bodyLength: fields.size - 256,
});

describe("request headers", () => {
  const requests = [...vectors.requests, ...vectors.routed_requests];

  it.each(requests)("$name encodes to the golden bytes", ({ fields, header_hex }) => {
    const header = new Uint8Array(256);
    writeRequestHeader(header, 0, {
      ...common(fields),
      client: BigInt(fields.client),
      requestChecksum: BigInt(fields.request_checksum),
      timestamp: BigInt(fields.timestamp),
      request: BigInt(fields.request),
      operation: fields.operation.code,
      session: BigInt(fields.session),
      userId: fields.user_id,
      commandCode: le32(fields.reserved_hex),
      partitionIncarnation: BigInt(fields.partition_incarnation),
      ownerGeneration: BigInt(fields.owner_generation),
      minimumMetadataOp: BigInt(fields.minimum_metadata_op),
      metadataWatermark: BigInt(fields.metadata_watermark ?? 0),
      group: BigInt(fields.group ?? 0),
    });
    expect(toHex(header)).toBe(header_hex);
  });

  it.each(requests)("$name decodes to the golden fields and is valid", ({ fields, header_hex }) => {
    const header = new RequestHeader().at(fromHex(`ffff${header_hex}`), 2);
    expect(validateRequestHeader(header)).toBeUndefined();
    expect({
      cluster: String(header.cluster),
      size: header.size,
      view: header.view,
      release: header.release,
      replica: header.replica,
      client: String(header.client),
      request_checksum: String(header.requestChecksum),
      request: String(header.requestBig),
      operation: header.operation,
      session: String(header.sessionBig),
      user_id: header.userId,
      code: header.commandCode,
    }).toEqual({
      cluster: fields.cluster,
      size: fields.size,
      view: fields.view,
      release: fields.release,
      replica: fields.replica,
      client: fields.client,
      request_checksum: fields.request_checksum,
      request: fields.request,
      operation: fields.operation.code,
      session: fields.session,
      user_id: fields.user_id,
      code: le32(fields.reserved_hex),
    });
    expect(header.timestamp).toBe(Number(fields.timestamp));
    expect(header.request).toBe(Number(fields.request));
    expect(header.session).toBe(Number(fields.session));
    expect(header.partitionIncarnation).toBe(Number(fields.partition_incarnation));
    expect(header.ownerGeneration).toBe(Number(fields.owner_generation));
    expect(header.minimumMetadataOp).toBe(Number(fields.minimum_metadata_op));
    expect(header.metadataWatermark).toBe(Number(fields.metadata_watermark ?? 0));
    expect(header.group).toBe(Number(fields.group ?? 0));
  });
});

describe("reply headers", () => {
  it.each(vectors.replies)("$name encodes to the golden bytes", ({ fields, header_hex }) => {
    const header = new Uint8Array(256);
    writeReplyHeader(header, 0, {
      ...common(fields),
      client: BigInt(fields.client),
      requestChecksum: BigInt(fields.request_checksum),
      op: BigInt(fields.op),
      commit: BigInt(fields.commit),
      timestamp: BigInt(fields.timestamp),
      request: BigInt(fields.request),
      operation: fields.operation.code,
      status: fields.status,
      isCommitted: fields.committed_result,
      partitionIncarnation: BigInt(fields.partition_incarnation),
    });
    expect(toHex(header)).toBe(header_hex);
  });

  it.each(vectors.replies)("$name decodes to the golden fields", ({ fields, header_hex }) => {
    const header = new ReplyHeader().at(fromHex(header_hex));
    expect({
      size: header.size,
      request_checksum: header.requestChecksum,
      context: header.context,
      client: header.client,
      op: header.opBig,
      commit: header.commitBig,
      timestamp: header.timestamp,
      request: header.requestBig,
      operation: header.operation,
      status: header.status,
      committed: header.isCommitted,
      incarnation: header.partitionIncarnationBig,
    }).toEqual({
      size: fields.size,
      request_checksum: BigInt(fields.request_checksum),
      context: 0n,
      client: BigInt(fields.client),
      op: BigInt(fields.op),
      commit: BigInt(fields.commit),
      timestamp: Number(fields.timestamp),
      request: BigInt(fields.request),
      operation: fields.operation.code,
      status: fields.status,
      committed: fields.committed_result,
      incarnation: BigInt(fields.partition_incarnation),
    });
  });

  it.each(vectors.replies.filter((reply) => reply.fields.op !== "0"))(
    "$name is what its log entry gives",
    ({ fields, header_hex }) => {
      const header = new Uint8Array(256);
      writeCommittedReply(header, 0, {
        ...common(fields),
        client: BigInt(fields.client),
        requestChecksum: BigInt(fields.request_checksum),
        op: BigInt(fields.op),
        timestamp: BigInt(fields.timestamp),
        request: BigInt(fields.request),
        operation: fields.operation.code,
        partitionIncarnation: BigInt(fields.partition_incarnation),
        isPending: !fields.committed_result,
      });
      expect(toHex(header)).toBe(header_hex);
    },
  );

  it.each(vectors.replies.filter((reply) => reply.fields.op === "0"))(
    "$name is the echo of its request",
    ({ fields, header_hex }) => {
      const request = new Uint8Array(256);
      writeRequestHeader(request, 0, {
        ...common(fields),
        client: BigInt(fields.client),
        requestChecksum: BigInt(fields.request_checksum),
        request: BigInt(fields.request),
        operation: fields.operation.code,
        partitionIncarnation: BigInt(fields.partition_incarnation),
      });
      const reply = new Uint8Array(300).fill(0xff);
      writeReplyEcho(reply, 40, new RequestHeader().at(request), {
        status: fields.status,
        bodyLength: fields.size - 256,
        client: BigInt(fields.client),
      });
      expect(toHex(reply.subarray(40, 296))).toBe(header_hex);
    },
  );
});

describe("evictions", () => {
  it.each(vectors.evictions)("$name tells the client error", (vector) => {
    const { fields, header_hex } = vector;
    if (fields === undefined || header_hex === undefined) {
      const code = evictionErrorCode(14, vector.server_protocol_version, vector.server_protocol_version_min);
      expect(code).toBe(vector.client_error.code);
      return;
    }
    const written = new Uint8Array(256);
    writeEviction(written, 0, {
      ...common(fields),
      client: BigInt(fields.client),
      reason: fields.reason.code,
      serverProtocolVersion: fields.server_protocol_version,
      serverProtocolVersionMin: fields.server_protocol_version_min,
    });
    expect(toHex(written)).toBe(header_hex);
    const header = new EvictionHeader().at(fromHex(header_hex));
    expect(validateEvictionHeader(header)).toBeUndefined();
    expect(header.client).toBe(BigInt(fields.client));
    const code = evictionErrorCode(header.reason, header.serverProtocolVersion, header.serverProtocolVersionMin);
    expect(code).toBe(vector.client_error.code);
  });

  it("reads a reason it does not know as unauthenticated", () => {
    expect(evictionErrorCode(200)).toBe(40);
  });
});

describe("malformed headers", () => {
  it.each(vectors.negative)("$type: $name is refused as $error.kind", ({ type, hex, error }) => {
    const bytes = fromHex(hex);
    const fault =
      type === "RequestHeader"
        ? validateRequestHeader(new RequestHeader().at(bytes))
        : validateEvictionHeader(new EvictionHeader().at(bytes));
    expect(fault).toBeInstanceOf(FrameError);
    expect(fault?.code).toBe(3);
    expect(kindOf(error.kind)).toContain(fault?.kind);
  });
});
