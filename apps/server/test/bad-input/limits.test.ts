import {
  createConsumerGroup,
  createPartitions,
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  deletePartitions,
  encode,
  encodeUtf8,
  ErrorCode,
  fetchMessages,
  getStreams,
  identifier,
  numericId,
  type OptionEntry,
  OptionScope,
  optionString,
  optionU64,
  ping,
  updateResource,
} from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { freshTopic, outcome, RawSession, type RawTopic } from "../raw-client/index.js";

let server: RunningServer;
let session: RawSession;
let topic: RawTopic;

beforeAll(async () => {
  server = await startServer({ config: { "personal_access_token.max_tokens_per_user": 3 } });
  session = await RawSession.open(server.port);
  topic = await freshTopic(session, { partitions: 2 });
});
afterAll(async () => {
  await session.close();
  await server.close();
});

const place = () => ({ streamId: numericId(topic.streamId), topicId: numericId(topic.topicId) });
const malformed = `status ${ErrorCode.InvalidCommand}`;

/** Options as they lie on the wire, whatever a sound writer would refuse. */
function block(entries: readonly OptionEntry[]): Uint8Array {
  const pieces = entries.map(({ key, kind, value }) => {
    const name = encodeUtf8(key);
    const lengths = [name.length, value.length].map((length) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32LE(length);
      return bytes;
    });
    return Buffer.concat([Buffer.of(2), lengths[0]!, name, Buffer.of(kind), lengths[1]!, value]);
  });
  return Buffer.concat(pieces);
}

const created = async (options: Uint8Array): Promise<string> =>
  outcome(await session.send(createStream, Buffer.concat([Buffer.of(1), encodeUtf8("s"), options])));

describe("option blocks", () => {
  const filler = (count: number, bytes: number): OptionEntry[] =>
    Array.from({ length: count }, (_, index) => optionString(`key ${index}`, "x".repeat(bytes)));

  it.each([
    ["of more than 1024 entries", block(filler(1025, 1))],
    ["of more than 100,000 bytes", block(filler(450, 255))],
    ["with the same key twice", block([optionString("a", "1"), optionString("a", "2")])],
    ["with an empty value", block([{ key: "a", kind: 2, value: new Uint8Array(0) }])],
    ["with a value of no kind", block([{ key: "a", kind: 0, value: Buffer.of(1) }])],
    ["with a key and no value", block([optionString("a", "1")]).subarray(0, 6)],
    ["with a value that ends early", block([optionString("a", "123")]).subarray(0, -1)],
  ])("%s are malformed", async (_what, options) => {
    expect(await created(options)).toBe(malformed);
    expect((await session.call(getStreams, {})).streams).toHaveLength(1);
  });

  it("too large for the metadata log are refused before they are read", async () => {
    expect(await created(new Uint8Array(10_000_000).fill(2))).toBe(`status ${ErrorCode.InvalidSizeBytes}`);
  });

  it("with a key that is none are refused, with the code of the key", async () => {
    expect(await created(block([optionString("no_such_option", "1")]))).toBe("status 4041");
    expect(await created(block([optionString("encryption_key_source", "none")]))).toMatch(/^status 41\d\d$/);
  });
});

describe("numbers", () => {
  it("of partitions", async () => {
    const topicOf = { streamId: numericId(topic.streamId), name: "t", options: [] };
    expect(await session.try(createTopic, { ...topicOf, partitionsCount: 1001 })).toBe("status 2015");
    expect(await session.try(createTopic, { ...topicOf, partitionsCount: 0xffff_ffff })).toBe("status 2015");
    for (const partitionsCount of [0, 1001, 0xffff_ffff]) {
      expect(await session.try(createPartitions, { ...place(), partitionsCount })).toBe("status 2015");
      expect(await session.try(deletePartitions, { ...place(), partitionsCount })).toBe("status 2015");
    }
    expect(await session.try(deletePartitions, { ...place(), partitionsCount: 3 })).toBe("result 2019");
  });

  it("of targets of a fetch, claimed or real", async () => {
    const target = {
      strategy: { kind: "offset", value: 0n },
      maxBytes: 344,
      incarnation: 1n,
      ownerGeneration: 0n,
    } as const;
    const request = {
      ...place(),
      consumer: { kind: "consumer", id: numericId(1) },
      waitUs: 0n,
      requestTimeoutUs: 1_000_000n,
      minCount: 1,
      count: 1,
      maxBytes: 344,
      autoCommit: false,
      targets: [{ ...target, partitionId: 0 }],
    } as const;
    const one = encode(fetchMessages.request, request);
    const head = one.subarray(0, one.length - 33 - 4);
    for (const [claimed, real] of [
      [0, 0],
      [1001, 1001],
      [0xffff_ffff, 1],
    ] as const) {
      const count = Buffer.alloc(4);
      count.writeUInt32LE(claimed);
      const targets = Array.from({ length: real }, (_, partitionId) => {
        const bytes = Buffer.from(one.subarray(-33));
        bytes.writeUInt32LE(partitionId);
        return bytes;
      });
      const body = Buffer.concat([head, count, ...targets]);
      expect(outcome(await session.send(fetchMessages, body)), `${claimed} claimed`).toBe(malformed);
    }
  });

  it("of tokens, checked before the name", async () => {
    for (let i = 0; i < 3; i++) {
      expect(await session.try(createPersonalAccessToken, { name: `token ${i}`, expiry: 0n })).toBe("ok");
    }
    expect(await session.try(createPersonalAccessToken, { name: "token 0", expiry: 0n })).toBe("status 52");
  });
});

describe("texts", () => {
  const user = { username: "someone", password: "s3cret", status: 1, permissions: null, options: [] };

  it.each([
    ["a username of 2 bytes", { username: "ab" }, 43],
    ["a username of 51 bytes", { username: "x".repeat(51) }, 43],
    ["a username of 26 two-byte letters", { username: "é".repeat(26) }, 43],
    ["a password of 2 bytes", { password: "ab" }, 44],
    ["an empty password", { password: "" }, 44],
    ["a password of 101 bytes", { password: "x".repeat(101) }, 44],
    ["status 0", { status: 0 }, 45],
    ["status 3", { status: 3 }, 45],
  ])("%s", async (_what, change, code) => {
    expect(await session.try(createUser, { ...user, ...change })).toMatch(new RegExp(`^(status|result) ${code}$`));
  });

  it("at their bounds are taken", async () => {
    for (const [username, password] of [
      ["abc", "abc"],
      ["x".repeat(50), "x".repeat(100)],
    ] as const) {
      expect(await session.try(createUser, { ...user, username, password })).toBe("ok");
      const other = await RawSession.open(server.port, { username, password });
      await other.close();
    }
    const one = encode(identifier, numericId(topic.streamId));
    const topicId = encode(identifier, numericId(topic.topicId));
    const longest = Buffer.concat([one, topicId, Buffer.of(255), Buffer.alloc(255, "g")]);
    expect(outcome(await session.send(createConsumerGroup, longest))).toBe("ok");
  });
});

describe("patches", () => {
  const target = () => ({ scope: OptionScope.topic, ...place() });
  const patch = (options: readonly OptionEntry[], reset: readonly string[] = []): Promise<string> =>
    session.try(updateResource, { target: target(), reset, options });

  it("that change nothing, or what can't be changed, are refused", async () => {
    // Scope, two identifiers, nothing reset and nothing set.
    const empty = Buffer.concat([
      Buffer.of(1),
      encode(identifier, place().streamId),
      encode(identifier, place().topicId),
      Buffer.of(0),
    ]);
    expect(outcome(await session.send(updateResource, empty))).toBe(malformed);
    expect(await patch([optionU64("segment_size", 1_048_576n)])).toBe("status 4103");
    expect(await patch([optionString("no_such_option", "1")])).toBe("status 4041");
    expect(await patch([optionString("message_expiry", "soon")])).toBe("status 4042");
    expect(await patch([optionU64("max_topic_size", 1n)])).toMatch(/^(status|result) 1019$/);
    expect(await patch([optionString("name", "x")], ["segment_size"])).toMatch(/^status 41\d\d$/);
  });

  it("of a scope that is none are malformed", async () => {
    for (const scope of [0, 4, 255]) {
      const body = Buffer.concat([Buffer.of(scope), encode(identifier, numericId(0)), Buffer.of(0)]);
      expect(outcome(await session.send(updateResource, body))).toBe(malformed);
    }
  });
});

it("whatever was asked for, the server is there", async () => {
  expect(await session.try(ping, {})).toBe("ok");
});
