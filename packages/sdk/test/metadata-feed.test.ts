import { cursorText, pageTokenText } from "@iggy/protocol";
import { describe, expect, test } from "vitest";
import type { GetMetadataChanges, MetadataChangesPage, MetadataRecord } from "../src/api/metadata-changes.js";
import { MetadataHistoryError, TransientNotAcceptedError, UnauthorizedError, ValidationError } from "../src/index.js";
import {
  feedSettings,
  type MetadataChangesOptions,
  type MetadataEvent,
  metadataFeed,
} from "../src/metadata/changes.js";
import { MetadataMirror } from "../src/metadata/mirror.js";
import { MirroredState } from "../src/metadata/mirrored-state.js";

const cursor = (op: number) => cursorText({ logId: 1n, op: BigInt(op), checksum: BigInt(op), ordinal: 0 });

const streamBody = (streamId: number, streamCreatedOp: number, name: string) => ({
  key: { streamId, streamCreatedOp: BigInt(streamCreatedOp) },
  createdAt: 1_000_000n,
  name,
  options: { readable: false as const },
});

function record(op: number, name: string, streamId = op, kind: "stream_created" | "stream_deleted" = "stream_created") {
  const created = streamBody(streamId, op, name);
  return {
    op: BigInt(op),
    ordinal: 0,
    timestamp: new Date(0),
    timestampMicros: 0n,
    actorUserId: 0,
    group: "streams",
    change: { kind, body: created },
    kindCode: 1,
    body: new Uint8Array(0),
    cursor: cursor(op),
  } as unknown as MetadataRecord;
}

const page = (fields: Partial<MetadataChangesPage>): MetadataChangesPage => ({
  status: "ok",
  phase: "changes",
  logId: 1n,
  oldestOp: 0n,
  retainedSince: new Date(0),
  headOp: 0n,
  next: null,
  hasMore: false,
  records: [],
  items: [],
  currentPageToken: null,
  ...fields,
});

const token = pageTokenText({
  anchor: { logId: 1n, op: 5n, checksum: 5n, ordinal: 0 },
  requiredHead: 5n,
  groupsMask: 1,
  group: 1,
  lastKey: Uint8Array.of(0, 0, 0, 0),
});

const streamItem = (id: number, name: string) => ({ group: "streams", body: streamBody(id, 1, name) }) as const;

/** Answers one question after the other; the last answer is given for ever. */
function scripted(answers: readonly (MetadataChangesPage | Error)[]) {
  const asked: GetMetadataChanges["from"][] = [];
  const read = (call: GetMetadataChanges): Promise<MetadataChangesPage> => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(call.from);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? page({}));
  };
  return { asked, read };
}

async function take(
  answers: readonly (MetadataChangesPage | Error)[],
  options: MetadataChangesOptions,
  count: number,
): Promise<{ events: MetadataEvent[]; asked: GetMetadataChanges["from"][] }> {
  const { asked, read } = scripted(answers);
  const events: MetadataEvent[] = [];
  for await (const event of metadataFeed(read, feedSettings({ interval: 1, ...options }))) {
    events.push(event);
    if (events.length === count) break;
  }
  return { events, asked };
}

const types = (events: readonly MetadataEvent[]) => events.map(({ type }) => type);

describe("a feed of metadata changes", () => {
  test("yields every record with the position behind it, and goes on behind the last page", async () => {
    const pages = [
      page({ records: [record(1, "a"), record(2, "b")], next: cursor(2), hasMore: true }),
      page({ next: cursor(2) }),
      page({ records: [record(3, "c")], next: cursor(3) }),
    ];
    const { events, asked } = await take(pages, { from: "earliest" }, 3);
    expect(events.map((event) => event.type === "change" && event.cursor)).toEqual([cursor(1), cursor(2), cursor(3)]);
    expect(asked).toEqual(["earliest", { after: cursor(2) }, { after: cursor(2) }]);
  });

  test("a node that is behind is asked the same again; what passes by itself is waited out", async () => {
    const pages = [
      page({ status: "behind" }),
      new TransientNotAcceptedError(),
      page({ records: [record(1, "a")], next: cursor(1) }),
    ];
    const { events, asked } = await take(pages, { from: { after: cursor(0) } }, 1);
    expect(types(events)).toEqual(["change"]);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ({ after: cursor(0) })));
  });

  test.each(["expired", "reset"] as const)(
    "%s: the current state, page by page, then the changes after it",
    async (status) => {
      const pages = [
        page({ status }),
        page({
          phase: "current",
          items: [streamItem(1, "a")],
          next: cursor(5),
          hasMore: true,
          currentPageToken: token,
        }),
        page({ phase: "current", items: [streamItem(2, "b")], next: cursor(5) }),
        page({ records: [record(6, "c")], next: cursor(6) }),
      ];
      const { events, asked } = await take(pages, { from: { after: cursor(1) } }, 5);
      expect(types(events)).toEqual(["snapshot-begin", "item", "item", "snapshot-end", "change"]);
      expect(asked.slice(1)).toEqual(["current", { currentAfter: token }, { after: cursor(5) }]);
    },
  );

  test("a state whose pages were lost begins anew", async () => {
    const first = page({ phase: "current", items: [streamItem(1, "a")], next: cursor(5), currentPageToken: token });
    const pages = [first, page({ status: "reset" }), page({ phase: "current", next: cursor(7) })];
    const { events } = await take(pages, { from: "current" }, 4);
    expect(types(events)).toEqual(["snapshot-begin", "item", "snapshot-begin", "snapshot-end"]);
  });

  test("without rebuild a lost position is an error that says which way it was lost", async () => {
    const lost = take([page({ status: "expired" })], { rebuild: false, from: { after: cursor(1) } }, 1);
    await expect(lost).rejects.toMatchObject({ name: "MetadataHistoryError", status: "expired" });
    await expect(lost).rejects.toBeInstanceOf(MetadataHistoryError);
  });

  test("a refusal for good is thrown; an abort ends the iteration without an error", async () => {
    await expect(take([new UnauthorizedError()], {}, 1)).rejects.toBeInstanceOf(UnauthorizedError);
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 5);
    expect((await take([page({ next: cursor(1) })], { signal: abort.signal }, 1)).events).toEqual([]);
  });

  test("options are checked before anything is asked", () => {
    expect(() => feedSettings({ groups: ["nothing" as "streams"] })).toThrow(/groups/);
    expect(() => feedSettings({ from: "now" as "latest" })).toThrow(ValidationError);
    expect(() => feedSettings({ interval: 0 })).toThrow(/interval/);
    expect(feedSettings({ groups: ["consumer_groups"] }).groups).toEqual(["consumer_groups", "topics", "streams"]);
  });
});

describe("a mirror", () => {
  test("shows the state once it is complete, then what changed", async () => {
    const { read } = scripted([
      page({ phase: "current", items: [streamItem(1, "a")], next: cursor(5) }),
      page({ records: [record(6, "c", 2)], next: cursor(6) }),
      page({ next: cursor(6) }),
    ]);
    const mirror = new MetadataMirror(read, { interval: 1 }, () => undefined);
    const changed = new Promise((resolve) => mirror.on("change", resolve));
    await mirror.ready();
    expect(mirror.streams.get(1)?.name).toBe("a");
    await changed;
    expect([...mirror.streams.values()].map(({ name }) => name)).toEqual(["a", "c"]);
    expect(mirror.cursor).toBe(cursor(6));
    await mirror.close();
  });

  test("one that can not be read says so to whoever waits for it", async () => {
    const { read } = scripted([new UnauthorizedError()]);
    const mirror = new MetadataMirror(read, {}, () => undefined);
    await expect(mirror.ready()).rejects.toBeInstanceOf(UnauthorizedError);
    await mirror.close();
  });

  test("changes that repeat what the state shows, or concern what had an id before, change nothing", () => {
    const state = new MirroredState();
    const topic = { stream: { streamId: 1, streamCreatedOp: 50n }, topicId: 0, topicCreatedOp: 51n };
    state.addItem({ group: "streams", body: streamBody(1, 50, "new") });
    state.addItem({
      group: "topics",
      body: { key: topic, createdAt: 0n, name: "t", options: { readable: false as const } },
    });
    state.addItem({ group: "partitions", body: { topic, partitionsCount: 3 } });
    state.apply({ kind: "stream_created", body: streamBody(1, 10, "old") });
    state.apply({ kind: "stream_deleted", body: { ...streamBody(1, 10, "old"), requestedOp: null } });
    state.apply({ kind: "stream_created", body: streamBody(1, 50, "new") });
    expect(state.streams.get(1)).toMatchObject({ name: "new" });
    expect(state.streams.get(1)?.topics.get(0)).toMatchObject({ name: "t", partitionsCount: 3 });
    state.apply({ kind: "consumer_group_created", body: { topic, groupId: 7, name: "g", consumerGroupsCount: 1 } });
    expect(state.streams.get(1)?.topics.get(0)?.groups.get(7)?.name).toBe("g");
    state.apply({ kind: "stream_deleted", body: { ...streamBody(1, 50, "new"), requestedOp: null } });
    expect(state.streams.size).toBe(0);
  });
});
