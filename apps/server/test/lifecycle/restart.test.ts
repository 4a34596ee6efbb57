import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createConsumerGroup,
  createPersonalAccessToken,
  createStream,
  createTopic,
  encodeRequest,
  getMe,
  getMetadataChanges,
  getStream,
  leaveConsumerGroup,
  type MetadataChangesPage,
  namedId,
  numericId,
  syncConsumerGroup,
} from "@iggy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Answer,
  freshName,
  group,
  messages,
  next,
  outcome,
  RawLink,
  RawSession,
  ServerProcess,
} from "../raw-client/index.js";
import { type Estate, furnish, reader, survey } from "./estate.js";

describe.each([["after a stop"], ["after a kill"]] as const)("%s", (how) => {
  let dataDirectory: string;
  let server: ServerProcess;
  let session: RawSession;
  let estate: Estate;
  let before: unknown;
  let changesBefore: MetadataChangesPage;
  let retries: readonly (readonly [string, Uint8Array, Answer])[];

  beforeAll(async () => {
    dataDirectory = await mkdtemp(join(tmpdir(), "iggy-restart-"));
    server = await ServerProcess.start({ dataDirectory });
    session = await RawSession.open(server.port);
    estate = await furnish(session);
    before = await survey(session, estate);
    // The last request of each lane is the one that a client may have to repeat.
    const lanes: readonly (readonly [string, Uint8Array])[] = [
      ["a send", estate.partitions[1]!.sendFrame(messages(2, "repeated"))],
      ["a send to a persisted topic", estate.partitions[3]!.sendFrame(messages(2, "repeated"))],
      ["a metadata request that is refused", metadataFrame("orders")],
      ["a metadata request", metadataFrame("repeated")],
    ];
    const answered: (readonly [string, Uint8Array, Answer])[] = [];
    for (const [what, frame] of lanes) answered.push([what, frame, await session.deliver(frame)]);
    retries = answered;
    before = await survey(session, estate);
    changesBefore = await changes();
    if (how === "after a kill") await server.kill();
    else expect(await server.stop()).toBe(0);
    server = await ServerProcess.start({ dataDirectory });
  }, 60_000);

  afterAll(async () => {
    await session.close();
    await server.kill();
    await rm(dataDirectory, { recursive: true });
  });

  const changes = (): Promise<MetadataChangesPage> =>
    session.call(getMetadataChanges, {
      start: { mode: "earliest" },
      since: null,
      until: null,
      limit: 1000,
      groups: [],
    });

  const metadataFrame = (name: string): Uint8Array =>
    session.frame(createStream, encodeRequest(createStream, { name, options: [] }));

  it("the session goes on by a bind", async () => {
    expect(outcome(await session.bind(await RawLink.connect(server.port)))).toBe("ok");
    expect(await session.try(getMe, {})).toBe("ok");
  });

  it("everything is as it was", async () => {
    expect(await survey(session, estate)).toEqual(before);
  });

  it("a retry of the last request of each lane gets its first reply, byte by byte", async () => {
    for (const [what, frame, answer] of retries) expect(await session.deliver(frame), what).toEqual(answer);
    expect(await survey(session, estate)).toEqual(before);
  });

  it("users, passwords and tokens sign in", async () => {
    const user = await RawSession.open(server.port, reader);
    expect(await user.try(createStream, { name: "denied", options: [] })).toBe("result 41");
    await user.close();
    const byToken = new RawSession(await RawLink.connect(server.port));
    expect(outcome(await byToken.loginWithToken(estate.token))).toBe("ok");
    await byToken.close();
    const wrong = new RawSession(await RawLink.connect(server.port));
    expect(outcome(await wrong.login({ ...reader, password: "other" }))).toBe("eviction 9");
    await wrong.link.end();
  });

  it("the member of a group goes on where it was", async () => {
    const place = { streamId: numericId(1), topicId: numericId(1), groupId: numericId(1) };
    const assignment = await session.call(syncConsumerGroup, place);
    expect(assignment?.partitions).toEqual([0, 1, 2]);
    const polled = await estate.partitions[0]!.poll(next, { consumer: group(1), count: 1 });
    expect(polled.messages).toMatchObject([{ offset: 4 }]);
    expect(await session.try(leaveConsumerGroup, place)).toBe("ok");
  });

  it("ids go on: gaps are filled where they are, groups never get an id again, offsets follow", async () => {
    // The retried request of the other test took the gap.
    expect((await session.call(getStream, { streamId: namedId("repeated") }))?.stream.id).toBe(0);
    expect((await session.call(createStream, { name: freshName("new"), options: [] })).id).toBe(3);
    const place = { streamId: numericId(1), topicId: numericId(1) };
    const created = await session.call(createConsumerGroup, { ...place, name: "fourth" });
    expect(created.group.id).toBe(3);
    const topic = { streamId: numericId(1), partitionsCount: 1, name: "new", options: [] };
    expect((await session.call(createTopic, topic)).topic.id).toBe(0);
    const taken = { name: "lasting", expiry: 0n };
    expect(await session.try(createPersonalAccessToken, taken)).toBe("result 51");
    expect(await estate.partitions[2]!.send(messages(1))).toBe(36);
  });

  it("the log of metadata changes goes on without a gap", async () => {
    const now = await changes();
    expect(now.logId).toBe(changesBefore.logId);
    expect(now.oldestOp).toBe(changesBefore.oldestOp);
    expect(now.records.slice(0, changesBefore.records.length)).toEqual(changesBefore.records);
    expect(changesBefore.records.length).toBeGreaterThan(20);
    expect(now.records.length).toBeGreaterThan(changesBefore.records.length);
  });
});
