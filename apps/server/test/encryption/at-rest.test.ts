import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createStream,
  encodeBase64,
  encodeUserHeaders,
  fetchMessages,
  getStreams,
  MAX_USER_HEADERS_SIZE,
  type MessageInput,
  optionRaw,
  optionString,
  optionU32,
  type ProducerSection,
} from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Answer,
  atOffset,
  consumer,
  first,
  freshName,
  message,
  messages,
  next,
  outcome,
  persisted,
  RawPartition,
  RawSession,
  readMessages,
  type ServerProcess,
  textOf,
} from "../raw-client/index.js";
import {
  filesWith,
  formsOf,
  newStream,
  newTopic,
  partitionOf,
  serverKey,
  shownKey,
  startServer,
  textsOf,
} from "./estate.js";

const MARKER = "a marker that no file may hold";
const key = randomBytes(32);

let dataDirectory: string;
let server: ServerProcess;
let session: RawSession;
beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-at-rest-"));
  server = await startServer(dataDirectory, { enabled: true, key: serverKey(1) });
  session = await RawSession.open(server.port);
}, 60_000);
afterAll(async () => {
  await session.close();
  await server.kill();
  await rm(dataDirectory, { recursive: true });
});

async function freshPartition(): Promise<RawPartition> {
  const name = freshName("sealed");
  await newStream(session, name);
  return newTopic(session, name);
}

describe("a stream", () => {
  it("with a key of its own shows where it is from, and never the key", async () => {
    const created = await newStream(session, "own", [optionRaw("encryption_key", key)]);
    expect(created.options).toEqual([]);
    const shown = await shownKey(session, "own");
    expect(textsOf(created)).toEqual(shown);
    expect(shown).toEqual({
      key_source: "stream",
      key_fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      kek_fingerprint: "18c1af0f0d256ae5",
    });
    await newStream(session, "own too", [optionString("encryption_key", encodeBase64(key))]);
    expect(await shownKey(session, "own too")).toEqual(shown);
    const { streams } = await session.call(getStreams, {});
    const list = streams.filter(({ name }) => name.startsWith("own")).map(textsOf);
    expect(list).toEqual([shown, shown]);
  });

  it("without one gets one", async () => {
    await newStream(session, "keyless");
    expect(await shownKey(session, "keyless")).toMatchObject({ key_source: "server" });
  });

  it.each([
    ["a short one", optionRaw("encryption_key", new Uint8Array(31))],
    ["a long one", optionRaw("encryption_key", new Uint8Array(33))],
    ["text without padding", optionString("encryption_key", encodeBase64(key).replace("=", ""))],
    ["text of another alphabet", optionString("encryption_key", Buffer.alloc(32, 0xff).toString("base64url"))],
    ["a number", optionU32("encryption_key", 7)],
  ])("with a malformed key is refused with 70: %s", async (_what, option) => {
    expect(await session.try(createStream, { name: freshName("bad"), options: [option] })).toBe("status 70");
  });

  it.each(["encryption_key_wrapped", "critical_keys", "encryption_key_source"])(
    "is refused with 4105 when the client sends %s",
    async (name) => {
      const option = name.endsWith("wrapped") ? optionRaw(name, new Uint8Array(78)) : optionString(name, "x");
      expect(await session.try(createStream, { name: freshName("bad"), options: [option] })).toBe("status 4105");
    },
  );
});

describe("messages of an encrypted stream", () => {
  const rich: MessageInput[] = [
    { ...message(`${MARKER} 0`), id: 77n, userHeaders: encodeUserHeaders({ trace: MARKER }) },
    message(`${MARKER} 1`),
    { ...message(""), userHeaders: encodeUserHeaders({ empty: true }) },
    { payload: randomBytes(100_000), originTimestamp: 1_772_000_000_000_007n },
  ];

  it("come back as they were sent, whole batches and cut ones, by every kind of read", async () => {
    const partition = await freshPartition();
    await partition.send(rich);
    await partition.send(messages(3, "second"));
    const all = [...rich, ...messages(3, "second")].map(({ payload }) => Buffer.from(payload));
    const payloads = (polled: { readonly messages: readonly { readonly payload: Uint8Array }[] }): Buffer[] =>
      polled.messages.map(({ payload }) => Buffer.from(payload));
    expect(payloads(await partition.poll(first))).toEqual(all);
    expect(payloads(await partition.poll(atOffset(1), { count: 4 }))).toEqual(all.slice(1, 5));
    expect(payloads(await partition.poll(atOffset(6), { waitMillis: 100 }))).toEqual(all.slice(6));
    const [{ id, originTimestamp } = { id: 0n, originTimestamp: 0n }] = (await partition.poll(first)).messages;
    expect([id, originTimestamp]).toEqual([77n, rich[0]?.originTimestamp]);
  });

  it("wake a poll that waits for them", async () => {
    const partition = await freshPartition();
    const waiting = partition.poll(next, { waitMillis: 10_000, minCount: 2 });
    await partition.send(messages(1));
    await partition.send(messages(1, "late"));
    expect((await waiting).messages.map(textOf)).toEqual(["message 0", "late 0"]);
  });

  it("come through a fetch of several partitions", async () => {
    const name = freshName("fetched");
    await newStream(session, name);
    const { streamId, topicId } = await newTopic(session, name, [], 2);
    const partitions = [0, 1].map((partitionId) => RawPartition.of(session, streamId, topicId, partitionId));
    for (const partition of partitions) await (await partition).send(messages(2, "fetched"));
    const targets = (await Promise.all(partitions)).map(({ partitionId, incarnation }) => ({
      partitionId,
      strategy: atOffset(1),
      maxBytes: 1_000_000,
      incarnation,
      ownerGeneration: 0n,
    }));
    const { sections, records } = await session.call(fetchMessages, {
      consumer: consumer(1),
      streamId,
      topicId,
      waitUs: 0n,
      requestTimeoutUs: 10_000_000n,
      minCount: 1,
      count: 10,
      maxBytes: 1_000_000,
      autoCommit: false,
      targets,
    });
    expect(sections).toMatchObject([
      { messagesCount: 1, nextOffset: 2n },
      { messagesCount: 1, nextOffset: 2n },
    ]);
    expect(readMessages(records).map(textOf)).toEqual(["fetched 1", "fetched 1"]);
  });

  it("stay within the byte limit of a read, and come one at least", async () => {
    const partition = await freshPartition();
    const inputs = Array.from({ length: 20 }, (_, at) => message(`${String(at).padStart(4, "0")}${"x".repeat(996)}`));
    await partition.send(inputs);
    for (const maxBytes of [1_000, 5_000, 12_345]) {
      const answer = await partition.tryPoll(first, { maxBytes });
      if (answer.kind !== "ok") throw new Error(outcome(answer));
      if (maxBytes > 2_000) expect(answer.payload.length).toBeLessThanOrEqual(maxBytes);
      let offset = 0;
      let rounds = 0;
      while (offset < 20 && rounds++ < 30) {
        const polled = await partition.poll(atOffset(offset), { maxBytes });
        expect(polled.messages[0]?.offset).toBe(offset);
        offset += polled.messages.length;
      }
      expect(offset).toBe(20);
    }
  });

  it("end the wait of a read that they fill, although it wanted more of them", async () => {
    const partition = await freshPartition();
    const inputs = Array.from({ length: 20 }, (_, at) => message(`${String(at).padStart(4, "0")}${"x".repeat(996)}`));
    await partition.send(inputs.slice(0, 10));
    const started = performance.now();
    const full = await partition.poll(first, { minCount: 100, maxBytes: 5_000, waitMillis: 20_000 });
    expect(full.messages.length).toBeGreaterThan(2);
    // Filled by what comes during the wait: the second batch does not fit behind the first.
    const waiting = partition.poll(first, { minCount: 100, maxBytes: 15_000, waitMillis: 20_000 });
    await partition.send(inputs.slice(10));
    expect((await waiting).messages).toHaveLength(10);
    expect(performance.now() - started).toBeLessThan(15_000);
  });

  it("are committed by a read that stores its offset, cut where the reply is", async () => {
    const partition = await freshPartition();
    await partition.send(messages(5));
    expect((await partition.poll(next, { count: 2, autoCommit: true })).messages.map(textOf)).toEqual([
      "message 0",
      "message 1",
    ]);
    expect((await partition.poll(next, { autoCommit: true })).messages.map(textOf)).toEqual([
      "message 2",
      "message 3",
      "message 4",
    ]);
  });

  it("are stored once, however often a client sends them", async () => {
    const partition = await freshPartition();
    const frame = partition.sendFrame(messages(2));
    const answers = [await session.deliver(frame), await session.deliver(frame)];
    expect(answers.map(outcome)).toEqual(["ok", "ok"]);
    const producer = (baseSequence: number): ProducerSection => ({ id: 5n, epoch: 0, baseSequence });
    expect(await partition.send(messages(2, "p"), { producer: producer(0) })).toBe(2);
    expect(await partition.send(messages(2, "p"), { producer: producer(0) })).toBe(2);
    expect(outcome(await partition.trySend(messages(1, "gap"), { producer: producer(9) }))).toBe("status 92");
    expect((await partition.readAll()).map(textOf)).toEqual(["message 0", "message 1", "p 0", "p 1"]);
  });

  it("may be as large as on a plain stream, and not larger", async () => {
    const partition = await freshPartition();
    const send = (payloadBytes: number, userHeadersBytes: number): Promise<Answer> =>
      partition.trySend([
        { payload: new Uint8Array(payloadBytes), userHeaders: new Uint8Array(userHeadersBytes), originTimestamp: 1 },
      ]);
    expect(outcome(await send(500_000, MAX_USER_HEADERS_SIZE))).toBe("ok");
    expect(outcome(await send(500_000, MAX_USER_HEADERS_SIZE + 1))).toBe("status 4017");
    const [read] = (await partition.poll(first)).messages;
    expect(read?.payload.length).toBe(500_000);
  });

  it("leave no plaintext and no key in any file, nor in the log", async () => {
    const own = freshName("own");
    await newStream(session, own, [optionRaw("encryption_key", key)]);
    const partitions = [await newTopic(session, own, persisted), await freshPartition()];
    for (const partition of partitions) {
      await partition.send(rich);
      for (let batch = 0; batch < 30; batch++)
        await partition.send([message(`${MARKER} ${batch} ${"y".repeat(50_000)}`)]);
      expect((await partition.readAll()).length).toBe(34);
    }
    await session.close();
    const forbidden = {
      marker: Buffer.from(MARKER),
      ...formsOf("stream key", key),
      ...formsOf("server key", Buffer.alloc(32, 1)),
    };
    // While it runs, and after everything was flushed.
    expect(await filesWith(dataDirectory, forbidden)).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(await filesWith(dataDirectory, forbidden)).toEqual([]);
    const printed = Buffer.from(server.stdout + server.stderr);
    for (const [name, bytes] of Object.entries(forbidden)) {
      expect(`${name} ${printed.includes(Buffer.from(bytes))}`).toBe(`${name} false`);
    }

    server = await startServer(dataDirectory, { enabled: true, key: serverKey(1) });
    session = await RawSession.open(server.port);
    const again = await partitionOf(session, own);
    const read = await again.readAll();
    expect(read).toHaveLength(34);
    expect(textOf(read[0] ?? { payload: new Uint8Array(0) })).toBe(`${MARKER} 0`);
  }, 60_000);
});
