import { describe, expect, it } from "vitest";
import {
  type AnyCommand,
  bindSession,
  BatchView,
  checkRecords,
  decode,
  decodeRequest,
  encode,
  ErrorCode,
  evictionErrorCode,
  EvictionHeader,
  forEachMessage,
  IggyError,
  loginRegister,
  nameOf,
  PollingKind,
  ReplyHeader,
  RequestHeader,
  retiredCommands,
  sendMessages,
  validateBatchLayout,
  validateEvictionHeader,
  validateRequestHeader,
  verifyBatch,
  WireError,
  writeEviction,
  writeReplyHeader,
  writeRequestHeader,
} from "../../src/index.js";
import * as legacy from "../../src/legacy/index.js";
import { loadVectors } from "../golden.js";
import { bytesOf, fieldsOf, hexOf, type Json, type JsonObject, plain } from "../golden-layouts.js";

interface Case {
  readonly code: number;
  readonly command: string;
  readonly name: string;
  readonly operation: number | null;
  readonly fields: JsonObject;
  readonly hex: string;
}
interface Frame {
  readonly name: string;
  readonly code: number;
  readonly reason: number;
  readonly server_protocol_version: number;
  readonly server_protocol_version_min: number;
  readonly client_error: { readonly code: number };
  readonly fields: JsonObject & {
    readonly size: number;
    readonly client: string;
    readonly request_checksum: string;
    readonly request: string;
    readonly session: string;
    readonly op: string;
    readonly commit: string;
    readonly status: number;
    readonly operation: { readonly code: number };
    readonly reserved_hex: string;
  };
  readonly body_hex: string;
  readonly header_hex: string;
  readonly hex: string;
}
interface Vectors {
  readonly protocol_versions: Readonly<Record<string, number>>;
  readonly gate: readonly {
    readonly version: string;
    readonly packed: number;
    readonly accepted_by_a_0_11_0_server: boolean;
  }[];
  readonly commands: readonly {
    readonly code: number;
    readonly registry_name: string;
    readonly operation: { readonly code: number } | null;
  }[];
  readonly cases: readonly Case[];
  readonly response_cases: readonly (Case & {
    readonly response: string;
    readonly commands: readonly { readonly code: number }[];
  })[];
  readonly frames: {
    readonly requests: readonly Frame[];
    readonly replies: readonly Frame[];
    readonly evictions: readonly Frame[];
  };
  readonly error_numbers_known: readonly { readonly code: number }[];
  readonly error_numbers_read_as_error_1: readonly number[];
  readonly negative: readonly {
    readonly type: string;
    readonly name: string;
    readonly hex: string;
    readonly value: number;
    readonly misread?: boolean;
    readonly error?: { readonly kind?: string; readonly code?: number };
  }[];
  readonly later_protocols: readonly (Case & { readonly kind: string; readonly protocol: string })[];
}
const vectors: Vectors = loadVectors("legacy-0.11.0");

const commandOf = (code: number): AnyCommand => {
  const command = legacy.legacyCommandByCode(code);
  if (command === undefined) throw new Error(`no command ${String(code)}`);
  return command;
};

/** These vectors show a strategy by its code alone. */
const named = (json: Json): Json => {
  if (Array.isArray(json)) return json.map(named);
  if (json === null || typeof json !== "object") return json;
  const kindCode = json["kind_code"];
  const isStrategy = typeof kindCode === "number" && !("kind" in json) && !("key" in json);
  return Object.fromEntries([
    ...(isStrategy ? [["kind", nameOf(PollingKind, kindCode)]] : []),
    ...Object.entries(json).map(([key, value]) => [key, named(value)]),
  ]) as JsonObject;
};

const expectBothWays = (codec: AnyCommand["request"], hex: string): unknown => {
  const value = decode(codec, bytesOf(hex));
  expect(hexOf(encode(codec, value))).toBe(hex);
  return value;
};

describe("requests of 0.11", () => {
  const cases = vectors.cases.filter(({ code }) => code !== 101);

  it.each(cases)("$command $name both ways", ({ code, fields, hex, operation }) => {
    const command = commandOf(code);
    expect(plain(expectBothWays(command.request, hex))).toEqual(fieldsOf(named(fields)));
    if (operation !== null) expect(command.operation).toBe(operation);
  });

  it("SendMessages carries a batch that both protocols take", () => {
    const send = vectors.cases.find(({ code }) => code === 101);
    const request = decodeRequest(sendMessages, bytesOf(send?.hex ?? ""));
    expect(verifyBatch(request.batch)).toBe(request.batch.length);
    expect(legacy.isLegacyBatchHeader(request.batch)).toBe(true);
    expect(hexOf(encode(sendMessages.request, request))).toBe(send?.hex);
  });
});

describe("replies of 0.11", () => {
  // What the vectors of these replies show of them, by name.
  const shownParts: Readonly<Record<string, (value: never) => unknown>> = {
    Stats: (value: {
      iggyServerVersion: string;
      freeDiskSpace: bigint;
      totalDiskSpace: bigint;
      cacheMetrics: unknown[];
    }) => ({
      cacheMetrics: value.cacheMetrics.length,
      iggyServerVersion: value.iggyServerVersion,
      freeDiskSpace: value.freeDiskSpace,
      totalDiskSpace: value.totalDiskSpace,
      endsAt: "total_disk_space",
    }),
    GetUser: ({ user, permissions }: { user: unknown; permissions: unknown }) => ({
      user,
      hasPermissions: permissions !== null,
    }),
    PollMessages: (reply: {
      partitionId: number;
      currentOffset: bigint;
      messagesCount: number;
      records: Uint8Array;
    }) => {
      const offsets: bigint[] = [];
      checkRecords(reply.records, reply.messagesCount);
      forEachMessage(reply.records, (message) => offsets.push(message.offsetBig));
      const { partitionId, currentOffset, messagesCount } = reply;
      return { partitionId, currentOffset, messagesCount, offsets };
    },
  };

  it.each(vectors.response_cases)("$response $name both ways", ({ response, commands, fields, hex }) => {
    const shown = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== "note"));
    for (const { code } of commands.slice(0, response === "GetStream" || response === "Empty" ? 1 : undefined)) {
      const value = expectBothWays(commandOf(code).response, hex);
      const part = shownParts[response];
      expect(plain(part === undefined ? value : part(value as never))).toEqual(fieldsOf(shown));
    }
  });

  it("a created stream is the stream without topics", () => {
    const golden = vectors.response_cases.find(({ response, name }) => response === "GetStream" && name === "empty");
    expectBothWays(legacy.legacyCreateStream.response, golden?.hex ?? "");
  });
});

describe("frames of 0.11", () => {
  it.each(vectors.frames.requests)("request $name both ways", ({ code, fields, header_hex, body_hex, hex }) => {
    const body = bytesOf(body_hex);
    const header = new Uint8Array(256);
    const operation = fields.operation.code;
    writeRequestHeader(header, 0, {
      client: BigInt(fields.client),
      operation,
      requestChecksum: legacy.legacyRequestStamp(operation, body),
      request: BigInt(fields.request),
      session: BigInt(fields.session),
      commandCode: operation === 2 ? code : 0,
      bodyLength: body.length,
    });
    expect(hexOf(header)).toBe(header_hex);
    const read = new RequestHeader().at(bytesOf(hex));
    if (operation !== legacy.LegacyOperation.UpdateStream) expect(validateRequestHeader(read)).toBeUndefined();
    expect(String(read.requestChecksum)).toBe(fields.request_checksum);
    expect(legacy.isLegacyOperation(read.operation)).toBe(true);
  });

  it.each(vectors.frames.replies)("reply $name both ways", ({ fields, header_hex, body_hex, hex }) => {
    const header = new Uint8Array(256);
    writeReplyHeader(header, 0, {
      client: BigInt(fields.client),
      operation: fields.operation.code,
      requestChecksum: BigInt(fields.request_checksum),
      request: BigInt(fields.request),
      op: BigInt(fields.op),
      commit: BigInt(fields.commit),
      status: fields.status,
      bodyLength: body_hex.length / 2,
    });
    expect(hexOf(header)).toBe(header_hex);
    const read = new ReplyHeader().at(bytesOf(hex));
    expect([read.operation, read.status, read.commit, read.bodyLength]).toEqual([
      fields.operation.code,
      fields.status,
      Number(fields.commit),
      body_hex.length / 2,
    ]);
  });

  it.each(vectors.frames.evictions)("eviction $name both ways", (frame) => {
    const read = new EvictionHeader().at(bytesOf(frame.hex));
    expect(validateEvictionHeader(read)).toBeUndefined();
    expect(evictionErrorCode(read.reason, read.serverProtocolVersion, read.serverProtocolVersionMin)).toBe(
      frame.client_error.code,
    );
    const written = new Uint8Array(256);
    writeEviction(written, 0, {
      client: read.client,
      reason: frame.reason,
      serverProtocolVersion: frame.server_protocol_version,
      serverProtocolVersionMin: frame.server_protocol_version_min,
    });
    expect(hexOf(written)).toBe(frame.hex);
  });
});

describe("the registry of 0.11", () => {
  it("holds its 55 commands with their names and operations", () => {
    expect(legacy.legacyCommands).toHaveLength(55);
    for (const { code, registry_name, operation } of vectors.commands) {
      expect(commandOf(code).name).toBe(registry_name);
      if (operation !== null) expect(commandOf(code).operation).toBe(operation.code);
    }
  });

  it("lacks what came later, and 0.12.2 lacks what it retired", () => {
    for (const code of [15, 16, 17, 105, 106, 107, 108, 109]) {
      expect(legacy.legacyCommandByCode(code)).toBeUndefined();
    }
    for (const code of [14, 35, 102, 103, 104, 123, 204, 205, 304, 305]) {
      expect(retiredCommands.has(code)).toBe(true);
      expect(legacy.legacyCommandByCode(code)).toBeDefined();
    }
  });
});

describe("operations of 0.11", () => {
  it.each(vectors.negative.filter(({ type }) => type === "Operation"))("$value is unknown in a reply", ({ value }) => {
    expect(legacy.isLegacyOperation(value)).toBe(false);
  });

  it("frame the results of metadata and offset writes", () => {
    const framed = Array.from({ length: 256 }, (_, code) => code).filter(legacy.isLegacyResultFramed);
    expect(framed).toEqual([
      ...[64, 65, 66, 67, 68, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 139, 140, 141, 142, 143, 144, 145],
      ...[146, 147, 148, 149, 161, 162],
    ]);
  });

  it("keep one retry identity across the protocols", () => {
    expect([129, 133, 142].map(legacy.currentOperation)).toEqual([150, 150, 150]);
    expect(legacy.currentOperation(131)).toBe(131);
    expect([72, 73, 74].map((code) => legacy.legacyReplyOperation(code, 0))).toEqual([129, 133, 142]);
    expect(legacy.legacyReplyOperation(150, 133)).toBe(133);
    expect(legacy.legacyReplyOperation(64, 132)).toBe(64);
  });
});

describe("errors of 0.11", () => {
  it("are those that it knows", () => {
    const unread = Array.from({ length: 14_011 }, (_, code) => code).filter((code) => !legacy.isKnownToLegacy(code));
    expect(unread).toEqual(vectors.error_numbers_read_as_error_1);
    expect(vectors.error_numbers_known.every(({ code }) => legacy.isKnownToLegacy(code))).toBe(true);
  });

  it("stand in for numbers that a client must act on", () => {
    expect(legacy.legacyErrorCode(ErrorCode.NotPrimary)).toBe(58);
    expect(legacy.legacyErrorCode(ErrorCode.LifecycleBusy)).toBe(58);
    expect(legacy.legacyErrorCode(ErrorCode.HistoryUnavailable)).toBe(3007);
    expect(legacy.legacyErrorCode(ErrorCode.OptionNotUpdatable)).toBe(4041);
    expect(legacy.legacyErrorCode(ErrorCode.StreamIdNotFound)).toBe(1009);
    for (const code of [57, 58, 59, 85, 4106, 4107, 5010]) expect(legacy.legacyErrorCode(code)).toBe(code);
  });
});

describe("versions", () => {
  it.each(vectors.gate)("$version at a server of 0.11.0", ({ packed, accepted_by_a_0_11_0_server }) => {
    expect(legacy.isAdmittedBy0110(packed)).toBe(accepted_by_a_0_11_0_server);
  });

  it("have the golden numbers and a dialect where they are served", () => {
    const golden = vectors.protocol_versions;
    expect(Object.values(legacy.earlierProtocols)).toEqual([
      golden["0.11.0"],
      golden["0.11.1"],
      golden["0.12.0"],
      golden["0.12.1"],
    ]);
    const dialects = Object.values(golden).map(legacy.dialectOf);
    expect(dialects).toEqual(["0.11", "0.11", undefined, undefined, "0.12.2"]);
  });
});

describe("what a 0.11 reader refuses", () => {
  const negative = (name: string): Uint8Array =>
    bytesOf(vectors.negative.find((entry) => entry.name === name)?.hex ?? "");

  it("a producer section in a batch header", () => {
    expect(legacy.isLegacyBatchHeader(negative("producer_section"))).toBe(false);
    expect(() => legacy.isLegacyBatchHeader(new Uint8Array(255))).toThrow(WireError);
  });

  it.each(["prefix_of_40_bytes", "empty_prefix_of_40_bytes"])("a poll reply with a %s", (name) => {
    const reply = decode(legacy.legacyPollMessages.response, negative(name));
    expect(() => {
      checkRecords(reply.records, reply.messagesCount);
    }).toThrow(expect.objectContaining({ code: 4025 }) as Error);
  });

  it("records of 0.12: a second option block, a short topic, an external group", () => {
    expect(() => decode(legacy.legacyGetStream.response, negative("derived_block_after_the_stream"))).toThrow(
      IggyError,
    );
    expect(() => decode(legacy.legacyGetTopic.response, negative("topic_header_of_33_bytes"))).toThrow(
      expect.objectContaining({ kind: "UnexpectedEof" }) as Error,
    );
    const poll = vectors.cases.find(({ code, name }) => code === 100 && name === "consumer");
    const external = bytesOf(poll?.hex ?? "");
    external[0] = 3;
    expect(() => decode(legacy.legacyPollRequest, external)).toThrow(
      expect.objectContaining({ kind: "UnknownDiscriminant" }) as Error,
    );
  });

  it("but it misreads a user with two option blocks as one without permissions", () => {
    const read = decode(legacy.legacyGetUser.response, negative("derived_block_after_the_user"));
    expect(read.permissions).toBeNull();
  });
});

describe("a batch with a producer section", () => {
  it("reads for 0.11 once the section is stripped, frames untouched", () => {
    const messages: { readonly batches: readonly { readonly name: string; readonly hex: string }[] } =
      loadVectors("messages");
    const golden = messages.batches.find(({ name }) => name === "producer/as_stored");
    const batch = bytesOf(golden?.hex ?? "");
    const { header, frames } = legacy.withoutProducer(Buffer.concat([Buffer.alloc(3), batch]), 3);
    const stripped = new Uint8Array(Buffer.concat([header, frames]));
    expect(legacy.isLegacyBatchHeader(stripped)).toBe(true);
    expect(verifyBatch(stripped)).toBe(batch.length);
    expect(new BatchView().at(stripped).baseOffset).toBe(new BatchView().at(batch).baseOffset);
    expect(hexOf(frames)).toBe(hexOf(batch.subarray(256)));
    expect(hexOf(batch)).toBe(golden?.hex);
  });

  it("without a section is the same in both protocols", () => {
    const poll = vectors.response_cases.find(
      ({ response, name }) => response === "PollMessages" && name === "two_messages",
    );
    const record = bytesOf(poll?.hex ?? "").subarray(16);
    const { header } = legacy.withoutProducer(record);
    expect(validateBatchLayout(record)).toBe(record.length);
    expect(hexOf(header)).toBe(hexOf(record.subarray(0, 256)));
  });
});

describe("logins of 0.11", () => {
  const login = (name: string): Uint8Array => bytesOf(vectors.cases.find((entry) => entry.name === name)?.hex ?? "");

  it("read as a password or as a token", () => {
    const password = legacy.decodeLegacyLogin(login("as_the_released_clients_send_it"));
    expect(password.password?.username).toBe("iggy");
    const token = legacy.decodeLegacyLogin(login("token"));
    expect(token.password).toBeNull();
    expect(token.token?.token).toBe("dG9rZW4tMDAwMQ==");
  });

  it("of 0.11.1 are served in the form that fills the body, and not in the form with a secret", () => {
    expect(legacy.decodeLegacyLogin(login("patch_1")).password?.username).toBe("iggy");
    const later = vectors.later_protocols.find(
      ({ name, protocol }) => name === "with_bind_secret" && protocol === "0.11.1",
    );
    const other = legacy.decodeLegacyLogin(bytesOf(later?.hex ?? ""));
    expect([other.password, other.token]).toEqual([null, null]);
  });

  it("without a readable version are malformed", () => {
    expect(() => legacy.decodeLegacyLogin(new Uint8Array(3))).toThrow(WireError);
  });
});

describe("pre-releases between 0.11 and 0.12.2", () => {
  const codecOf = ({ command, kind, code }: (typeof vectors.later_protocols)[number]): AnyCommand["request"] => {
    if (command === "WaitForMessages")
      return kind === "request" ? legacy.waitForMessages.request : legacy.waitForMessages.response;
    if (command === "GetTopic") return legacy.topicDetails0120;
    return code === 15 ? bindSession.request : loginRegister.request;
  };

  it.each(vectors.later_protocols)("$protocol $command $name both ways", (vector) => {
    const value = plain(expectBothWays(codecOf(vector), vector.hex)) as JsonObject;
    if (vector.command === "WaitForMessages") expect(value).toMatchObject(fieldsOf(named(vector.fields)) as JsonObject);
    if (vector.command === "GetTopic") {
      expect((value["partitions"] as JsonObject[])[0]).toMatchObject({ context: fieldsOf(vector.fields) });
    }
    if (vector.command === "LoginRegister") expect(value).toMatchObject(fieldsOf(vector.fields) as JsonObject);
    if (vector.command === "BindSession") expect(value).toMatchObject({ identity: fieldsOf(vector.fields) });
  });

  it("a wait refuses what can not be waited for", () => {
    const golden = vectors.later_protocols.find(({ command, name }) => command === "WaitForMessages" && name === "two");
    const request = decodeRequest(legacy.waitForMessages, bytesOf(golden?.hex ?? ""));
    const refused = [
      { ...request, waitUs: 600_000_001n, requestTimeoutUs: 601_000_001n },
      { ...request, requestTimeoutUs: 5_999_999n },
      { ...request, requestTimeoutUs: 630_000_001n },
      { ...request, partitions: [] },
      { ...request, partitions: [request.partitions[0]!, request.partitions[0]!] },
      { ...request, partitions: [{ partitionId: 1, strategy: { kind: "first" as const, value: 0n } }] },
    ];
    for (const value of refused) expect(() => encode(legacy.waitForMessages.request, value)).toThrow(WireError);
    expect(() => decodeRequest(legacy.waitForMessages, bytesOf(`${golden?.hex ?? ""}00`))).toThrow(WireError);
  });
});

describe("the framing before the 256-byte header", () => {
  interface Earlier {
    readonly type: string;
    readonly name: string;
    readonly fields: JsonObject;
    readonly hex: string;
  }
  const frames: { readonly earlier_framing: readonly Earlier[] } = loadVectors("frames");

  it.each(frames.earlier_framing)("$type $name both ways", ({ type, fields, hex }) => {
    const codec: AnyCommand["request"] =
      type === "RequestFrame" ? legacy.earlierRequestFrame : legacy.earlierResponseFrame;
    expect(plain(expectBothWays(codec, hex))).toEqual(fieldsOf(fields));
    const wrong = bytesOf(hex);
    wrong[type === "RequestFrame" ? 0 : 4]! ^= 1;
    expect(() => decode(codec, wrong)).toThrow(WireError);
  });
});
