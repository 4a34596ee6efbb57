import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ProducerSection, sendMessages } from "@iggy/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  freshPartition,
  messages,
  outcome,
  persisted,
  RawLink,
  RawPartition,
  RawSession,
  ServerProcess,
  textOf,
} from "../raw-client/index.js";

const BATCHES_REMEMBERED = 5;

let dataDirectory: string;
let server: ServerProcess;
let session: RawSession;
let partition: RawPartition;

beforeAll(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-producers-"));
  server = await ServerProcess.start({ dataDirectory });
  session = await RawSession.open(server.port);
}, 60_000);
afterAll(async () => {
  await session.close();
  await server.kill();
  await rm(dataDirectory, { recursive: true });
});
beforeEach(async () => {
  partition = await freshPartition(session);
});
afterEach(async () => {
  // Whatever was sent how often: offsets are dense and no text is there twice.
  const stored = await partition.readAll();
  expect(stored.map(({ offset }) => offset)).toEqual(stored.map((_, index) => index));
  expect(new Set(stored.map(textOf)).size).toBe(stored.length);
});

const section = (baseSequence: number, epoch = 0, id = 42n): ProducerSection => ({ id, epoch, baseSequence });

/** Sends a batch under a section, as a request of its own. Gives its first offset, or what refused it. */
async function send(
  count: number,
  producer: ProducerSection,
  label = `${producer.epoch}/${producer.baseSequence}`,
): Promise<number | string> {
  const answer = await partition.trySend(messages(count, label), { producer });
  if (answer.kind !== "ok") return outcome(answer);
  return Number(session.decoded(sendMessages, answer).confirmations[0]?.baseOffset);
}

it("a batch that was stored is stored once, and its repetition is told the first offset", async () => {
  expect(await send(3, section(0))).toBe(0);
  expect(await send(3, section(0))).toBe(0);
  expect(await send(2, section(3))).toBe(3);
  expect(await send(3, section(0))).toBe(0);
  expect(await send(2, section(3))).toBe(3);
  expect(await partition.readAll()).toHaveLength(5);
});

it("gaps, overlaps and what lies behind the last batches are refused with 92", async () => {
  for (let sequence = 0; sequence < 7; sequence++) expect(await send(1, section(sequence))).toBe(sequence);
  expect(await send(1, section(8))).toBe("status 92");
  expect(await send(2, section(6))).toBe("status 92");
  expect(await send(2, section(5))).toBe("status 92");
  for (let sequence = 0; sequence < 7; sequence++) {
    expect(await send(1, section(sequence))).toBe(sequence < 7 - BATCHES_REMEMBERED ? "status 92" : sequence);
  }
  expect(await send(1, section(7))).toBe(7);
});

it("a producer that nobody knows begins at 0, in any epoch, or is refused with 94", async () => {
  expect(await send(1, section(5))).toBe("status 94");
  expect(await send(1, section(0, 9))).toBe(0);
  expect(await send(1, section(1, 9))).toBe(1);
  expect(await send(1, section(0, 0, 2n ** 63n - 1n), "highest")).toBe(2);
  expect(await send(1, section(0, 0, 0n), "lowest")).toBe(3);
});

it("a newer epoch begins at 0 and fences the older one with 93", async () => {
  expect(await send(2, section(0))).toBe(0);
  expect(await send(1, section(2, 1))).toBe("status 92");
  expect(await send(1, section(0, 1))).toBe(2);
  expect(await send(1, section(2, 0))).toBe("status 93");
  expect(await send(2, section(0, 0))).toBe("status 93");
  expect(await send(1, section(1, 1))).toBe(3);
});

it("sequences wrap after the highest one", async () => {
  expect(await send(1, section(0))).toBe(0);
  // A step to the end would take 2^31 messages: an epoch that starts elsewhere is refused.
  expect(await send(1, section(2 ** 31 - 1))).toBe("status 92");
});

it("batches that are under way at once are stored in order, each once", async () => {
  const frames = Array.from({ length: 20 }, (_, batch) =>
    partition.sendFrame(messages(5, `batch ${batch},`), { producer: section(batch * 5) }),
  );
  const answers = frames.map((frame) => session.deliver(frame));
  expect(new Set((await Promise.all(answers)).map(outcome))).toEqual(new Set(["ok"]));
  const stored = await partition.readAll();
  expect(stored.map(textOf)).toEqual(frames.flatMap((_, batch) => messages(5, `batch ${batch},`).map(textOf)));
});

describe.each(["stop", "kill"] as const)("after a %s", (how) => {
  it.each([
    ["a plain topic", []],
    ["a persisted topic", persisted],
  ] as const)("sequences go on and repetitions are known, in %s", { timeout: 60_000 }, async (_what, options) => {
    partition = await freshPartition(session, { options });
    for (let sequence = 0; sequence < 7; sequence++) expect(await send(1, section(sequence))).toBe(sequence);
    expect(await send(1, section(0, 3, 7n), "other")).toBe(7);
    if (how === "stop") expect(await server.stop()).toBe(0);
    else await server.kill();
    server = await ServerProcess.start({ dataDirectory });
    expect(outcome(await session.bind(await RawLink.connect(server.port)))).toBe("ok");
    partition = await RawPartition.of(session, partition.streamId, partition.topicId);
    expect(await send(1, section(6))).toBe(6);
    expect(await send(1, section(2))).toBe(2);
    expect(await send(1, section(1))).toBe("status 92");
    expect(await send(1, section(9))).toBe("status 92");
    expect(await send(1, section(0, 2, 7n))).toBe("status 93");
    expect(await send(1, section(7))).toBe(8);
    expect(await send(1, section(1, 3, 7n), "other, later")).toBe(9);
  });
});
