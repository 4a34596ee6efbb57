import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ChangeRecord,
  createConsumerGroup,
  createStream,
  createTopic,
  deleteStream,
  getMetadataChanges,
  type MetadataChangesPage,
  type MetadataCursor,
  type MetadataStart,
  MetadataStatus,
  numericId,
} from "@iggy/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { freshName, RawSession } from "../raw-client/index.js";

let dataDirectory: string;
let server: RunningServer;
let session: RawSession;

beforeEach(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), "iggy-changes-"));
  await begin();
});
afterEach(async () => {
  await end();
  await rm(dataDirectory, { recursive: true });
});

async function begin(): Promise<void> {
  server = await startServer({ dataDirectory });
  session = await RawSession.open(server.port);
}

async function end(): Promise<void> {
  await session.close();
  await server.close();
}

const page = (start: MetadataStart, limit = 1000): Promise<MetadataChangesPage> =>
  session.call(getMetadataChanges, { start, since: null, until: null, limit, groups: [] });

/** Follows the log from a start to its end. */
async function follow(
  start: MetadataStart,
  limit: number,
): Promise<{ records: ChangeRecord[]; cursor: MetadataCursor }> {
  const records: ChangeRecord[] = [];
  for (let from = start; ;) {
    const found = await page(from, limit);
    expect(found.status).toBe(MetadataStatus.ok);
    expect(found.records.length).toBeLessThanOrEqual(limit);
    records.push(...found.records);
    if (found.next === null) throw new Error("a page without a cursor");
    if (!found.hasMore) return { records, cursor: found.next };
    from = { mode: "after", cursor: found.next };
  }
}

let changes = 0;

/** Makes a stream, a topic and a group; every second time they are deleted again. */
async function changeSomething(): Promise<void> {
  const { id } = await session.call(createStream, { name: freshName("stream"), options: [] });
  const streamId = numericId(id);
  await session.call(createTopic, { streamId, partitionsCount: 2, name: "topic", options: [] });
  await session.call(createConsumerGroup, { streamId, topicId: numericId(0), name: "group" });
  if (++changes % 2 === 0) await session.call(deleteStream, { streamId });
}

const keyOf = ({ op, ordinal }: ChangeRecord): string => `${op}.${ordinal}`;

it("a cursor reads on after a restart, page by page, without a gap and without a repetition", async () => {
  for (let i = 0; i < 6; i++) await changeSomething();
  const before = await follow({ mode: "earliest" }, 7);
  expect(before.records.length).toBeGreaterThan(15);
  expect((await follow({ mode: "earliest" }, 1000)).records).toEqual(before.records);
  await end();
  await begin();
  for (let i = 0; i < 4; i++) await changeSomething();
  const after = await follow({ mode: "after", cursor: before.cursor }, 5);
  const whole = await follow({ mode: "earliest" }, 1000);
  expect(whole.records).toEqual([...before.records, ...after.records]);
  const keys = whole.records.map(keyOf);
  expect(new Set(keys).size).toBe(keys.length);
  expect(after.records.length).toBeGreaterThan(8);
  expect((await follow({ mode: "after", cursor: after.cursor }, 5)).records).toEqual([]);
});

it("the current state is the same before and after a restart, in pages of any size", async () => {
  for (let i = 0; i < 6; i++) await changeSomething();
  const current = async (limit: number): Promise<string[]> => {
    const items: string[] = [];
    for (let start: MetadataStart = { mode: "current", token: null }; ;) {
      const found = await page(start, limit);
      items.push(...found.items.map(({ group, body }) => `${group} ${Buffer.from(body).toString("hex")}`));
      if (found.currentPageToken === null) return items;
      start = { mode: "current", token: found.currentPageToken };
    }
  };
  const state = await current(1000);
  expect(state.length).toBeGreaterThan(10);
  expect(await current(3)).toEqual(state);
  await end();
  await begin();
  // The session that asks now is new; all else is as it was.
  const again = await current(4);
  expect(again.filter((item) => state.includes(item))).toEqual(state);
  expect(again.length - state.length).toBeLessThanOrEqual(1);
});

it("a cursor of another history is told so", async () => {
  for (let i = 0; i < 3; i++) await changeSomething();
  const { cursor } = await follow({ mode: "earliest" }, 1000);
  await end();
  await rm(dataDirectory, { recursive: true });
  await begin();
  const found = await page({ mode: "after", cursor });
  expect(found.status).toBe(MetadataStatus.reset);
  expect(found.records).toEqual([]);
});
