import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningServer, startServer } from "../../../../apps/server/test/start-server.js";
import {
  CommitPolicy,
  Consumer,
  FeatureUnavailableError,
  HttpClient,
  HeaderValue,
  IggyError,
  Partitioning,
  PollingStrategy,
} from "../../src/http/index.js";

/*
 * The client over HTTP against a server of this repository: what each namespace gives is what it gives over TCP.
 */

let server: RunningServer;
let client: HttpClient;
const credentials = { username: "iggy", password: "iggy" };
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

beforeAll(async () => {
  server = await startServer();
  client = new HttpClient({ url: `http://${server.addresses.http ?? ""}`, credentials, retries: 0 });
  await client.connect();
});

afterAll(async () => {
  await client.close();
  await server.close();
});

/** A topic of its own for each test. */
let topics = 0;
async function newTopic(partitionCount = 2): Promise<{ readonly streamId: string; readonly topicId: string }> {
  topics++;
  const streamId = `scenario ${String(topics)}/é`;
  await client.stream.create({ name: streamId });
  const created = await client.topic.create({ streamId, name: "events", partitionCount });
  expect(created.partitions).toHaveLength(partitionCount);
  return { streamId, topicId: "events" };
}

describe("topology", () => {
  test("a stream is made, read, listed, renamed and deleted", async () => {
    const made = await client.stream.create({ name: "orders" });
    expect(made).toMatchObject({ name: "orders", topicsCount: 0, topics: [] });
    expect(await client.stream.get({ streamId: made.id })).toMatchObject({ id: made.id, name: "orders" });
    expect((await client.stream.list()).map(({ name }) => name)).toContain("orders");
    expect(await client.stream.update({ streamId: "orders", name: "orders-2" })).toBe(true);
    expect(await client.stream.get({ streamId: "orders" })).toBeNull();
    expect(await client.stream.delete({ streamId: "orders-2" })).toBe(true);
    expect(await client.stream.get({ streamId: made.id })).toBeNull();
  });

  test("a topic keeps every digit of its options, and takes updates and resets", async () => {
    const { streamId } = await newTopic();
    const made = await client.topic.create({
      streamId,
      name: "large",
      partitionCount: 3,
      maxTopicSize: 9_007_199_254_740_993n,
      messageExpiry: "7 days",
    });
    expect(made.resolved.maxTopicSize).toBe(9_007_199_254_740_993n);
    expect(made.options["message_expiry"]).toBeDefined();
    expect(made.partitions.map(({ id }) => id)).toEqual([0, 1, 2]);
    await client.topic.update({ streamId, topicId: "large", name: "larger", reset: ["message_expiry"] });
    const found = await client.topic.get({ streamId, topicId: "larger" });
    expect(found?.options["message_expiry"]).toBeUndefined();
    expect((await client.topic.list({ streamId })).map(({ name }) => name)).toEqual(["events", "larger"]);
    expect(await client.topic.list({ streamId: "no such stream" })).toEqual([]);
    await client.topic.delete({ streamId, topicId: "larger" });
    expect(await client.topic.get({ streamId, topicId: "larger" })).toBeNull();
  });

  test("partitions come and go, segments are deleted", async () => {
    const target = await newTopic(1);
    expect(await client.partition.create({ ...target, partitionCount: 2 })).toBe(true);
    expect((await client.topic.get(target))?.partitionsCount).toBe(3);
    expect(await client.partition.delete({ ...target, partitionCount: 1 })).toBe(true);
    expect((await client.topic.get(target))?.partitionsCount).toBe(2);
    expect(await client.segment.delete({ ...target, partitionId: 0, segmentsCount: 1 })).toBe(true);
  });

  test("groups are managed, not joined", async () => {
    const target = await newTopic();
    const group = await client.group.create({ ...target, name: "workers" });
    expect(await client.group.get({ ...target, groupId: "workers" })).toMatchObject({ id: group.id, members: [] });
    expect(await client.group.list(target)).toHaveLength(1);
    const named = { ...target, groupId: "workers" };
    for (const refused of [
      () => client.group.join(named),
      () => client.group.leave(named),
      () => client.group.sync(named),
      () => client.group.ensureAndJoin({ ...target, name: "workers" }),
    ]) {
      await expect(refused()).rejects.toBeInstanceOf(FeatureUnavailableError);
    }
    expect(await client.group.delete(named)).toBe(true);
    expect(await client.group.get(named)).toBeNull();
  });

  test("names that no path reaches are refused before anything is sent", async () => {
    for (const name of ["7", "+7", ".", ".."]) {
      await expect(client.stream.delete({ streamId: name })).rejects.toMatchObject({ code: 6 });
    }
  });
});

describe("messages", () => {
  test("a send comes back as it was: largest id, headers, payload", async () => {
    const target = await newTopic();
    const id = 2n ** 128n - 1n;
    const { confirmations } = await client.message.send({
      ...target,
      partition: Partitioning.PartitionId(1),
      messages: [
        { id, payload: "hello", headers: { "content-type": "text/plain", attempt: HeaderValue.Uint32(42) } },
        { payload: new Uint8Array([0, 255]) },
      ],
    });
    expect(confirmations).toMatchObject([{ partitionId: 1, baseOffset: 0n }]);
    const polled = await client.message.poll({
      ...target,
      partitionId: 1,
      consumer: Consumer.Single,
      pollingStrategy: PollingStrategy.First,
    });
    const [first, second] = polled.messages;
    expect(polled).toMatchObject({ partitionId: 1, currentOffset: 1n, count: 2 });
    expect(first?.headers).toMatchObject({ id, offset: 0n, payloadLength: 5 });
    expect(first?.text()).toBe("hello");
    expect(first?.userHeadersMap.get("content-type")).toBe("text/plain");
    expect(first?.userHeadersMap.get("attempt")).toBe(42);
    expect(second?.payload).toEqual(new Uint8Array([0, 255]));
    expect(second?.offset).toBe(1n);
    expect(second?.userHeaders).toEqual([]);
    expect(first?.checksum).not.toBe(0n);

    await client.message.send({ ...target, partition: Partitioning.PartitionId(1), messages: [{ payload: "more" }] });
    const next = await client.message.poll({
      ...target,
      partitionId: 1,
      consumer: Consumer.Single,
      pollingStrategy: polled.continuation,
    });
    expect(next.messages.map((message) => message.text())).toEqual(["more"]);
  });

  test("balanced and keyed sends are placed by the server", async () => {
    const target = await newTopic();
    const send = (partition: Partitioning) =>
      client.message.send({ ...target, partition, messages: [{ payload: "x" }] });
    const placed = [await send(Partitioning.Balanced), await send(Partitioning.Balanced)];
    expect(new Set(placed.map(({ confirmations }) => confirmations[0]?.partitionId))).toEqual(new Set([0, 1]));
    const keyed = [await send(Partitioning.MessageKey("k")), await send(Partitioning.MessageKey("k"))];
    expect(new Set(keyed.map(({ confirmations }) => confirmations[0]?.partitionId)).size).toBe(1);
  });

  test("a send follows a topic that was made anew, and knows partitions that do not exist", async () => {
    const target = await newTopic();
    const other = new HttpClient({ url: `http://${server.addresses.http ?? ""}`, credentials });
    const send = () =>
      client.message.send({ ...target, partition: Partitioning.PartitionId(0), messages: [{ payload: "x" }] });
    await send();
    await other.topic.delete(target);
    await other.topic.create({ streamId: target.streamId, name: target.topicId, partitionCount: 1 });
    expect((await send()).confirmations).toMatchObject([{ baseOffset: 0n }]);
    await expect(
      client.message.send({ ...target, partition: Partitioning.PartitionId(9), messages: [{ payload: "x" }] }),
    ).rejects.toMatchObject({ code: 3007 });
    await other.close();
  });

  test("a waiting poll answers when a message comes", async () => {
    const target = await newTopic();
    const waiting = client.message.poll({
      ...target,
      partitionId: 0,
      consumer: Consumer.Single,
      pollingStrategy: PollingStrategy.First,
      options: { maxWait: 20_000 },
    });
    await client.message.send({ ...target, partition: Partitioning.PartitionId(0), messages: [{ payload: "now" }] });
    expect((await waiting).messages.map((message) => message.text())).toEqual(["now"]);
  });

  test("an abort ends a waiting poll with its reason", async () => {
    const target = await newTopic();
    const abort = new AbortController();
    const waiting = client.message.poll(
      { ...target, partitionId: 0, consumer: Consumer.Single, options: { maxWait: 20_000 } },
      { signal: abort.signal },
    );
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  test("offsets are stored, committed, read and deleted", async () => {
    const target = await newTopic();
    const place = { ...target, partitionId: 0, consumer: Consumer.Named("reader") };
    expect(await client.offset.get(place)).toBeNull();
    await client.message.send({
      ...target,
      partition: Partitioning.PartitionId(0),
      messages: [{ payload: "a" }, { payload: "b" }, { payload: "c" }],
    });
    expect(await client.offset.store({ ...place, offset: 0 })).toBe(true);
    const polled = await client.message.poll({ ...place, options: { count: 1, commit: CommitPolicy.OnRead } });
    expect(polled.messages.map((message) => message.text())).toEqual(["b"]);
    expect(await client.offset.get(place)).toEqual({ partitionId: 0, currentOffset: 2n, storedOffset: 1n });
    const rest = await client.message.poll(place);
    const { checkpoint } = rest;
    if (checkpoint === null) throw new Error("nothing was read");
    expect(await client.offset.commit({ ...place, checkpoint })).toBe(true);
    expect((await client.offset.get(place))?.storedOffset).toBe(2n);
    expect(await client.offset.delete(place)).toBe(true);
    await expect(client.offset.delete(place)).rejects.toMatchObject({ code: 3021 });
    await expect(client.offset.store({ ...place, offset: 99 })).rejects.toMatchObject({ code: 4100 });
  });

  test("what needs a binary transport says so", async () => {
    const target = await newTopic();
    const messages = [{ payload: "x" }];
    const group = Consumer.Group("g");
    for (const refused of [
      () => client.message.poll({ ...target, partitionId: 0, consumer: group }),
      () => client.message.poll({ ...target, partitionId: 0, consumer: Consumer.ExternalGroup("g") }),
      () => client.message.fetch({ ...target, consumer: Consumer.Single, targets: [{ partitionId: 0 }] }),
      () =>
        client.message.sendIdempotent({
          ...target,
          partitionId: 0,
          producer: { id: 1n, epoch: 0, sequence: 0 },
          messages,
        }),
      () => client.message.nextProducerId(),
      () => client.client.getMe(),
      () => client.cluster.getRoute({ ...target, partitionId: 0 }),
      () => client.sendBinaryRequest(),
      () => client.sendBinaryRequestToReplica(),
      () => client.operation.resolve(),
    ]) {
      await expect(refused()).rejects.toBeInstanceOf(FeatureUnavailableError);
    }
  });
});

describe("users and tokens", () => {
  test("a user is made, granted rights, renamed and deleted", async () => {
    const { streamId } = await newTopic();
    const stream = await client.stream.get({ streamId });
    const made = await client.user.create({
      username: "reader",
      password: "secret",
      permissions: { global: { readStreams: true }, streams: [{ streamId: stream?.id ?? 0, pollMessages: true }] },
    });
    expect(made).toMatchObject({ username: "reader", status: "active" });
    expect(made.permissions?.global.readStreams).toBe(true);
    expect(made.permissions?.streams).toMatchObject([{ streamId: stream?.id, pollMessages: true, readStream: false }]);
    const other = new HttpClient({ url: `http://${server.addresses.http ?? ""}` });
    expect(await other.session.login({ username: "reader", password: "secret" })).toMatchObject({ userId: made.id });
    await expect(other.stream.create({ name: "denied" })).rejects.toMatchObject({ code: 41 });
    await client.user.updatePermissions({ userId: made.id, permissions: null });
    expect((await client.user.get({ userId: "reader" }))?.permissions).toBeNull();
    await client.user.changePassword({ userId: "reader", currentPassword: "secret", newPassword: "secret2" });
    await client.user.update({ userId: "reader", username: "reader-2", status: "inactive" });
    expect(await client.user.get({ userId: "reader-2" })).toMatchObject({ status: "inactive" });
    expect((await client.user.list()).map(({ username }) => username)).toContain("reader-2");
    expect(await client.user.delete({ userId: made.id })).toBe(true);
    expect(await client.user.get({ userId: made.id })).toBeNull();
    await expect(client.user.delete({ userId: 0 })).rejects.toMatchObject({ code: 48 });
    await other.close();
  });

  test("a personal access token signs in, is listed and deleted", async () => {
    const { token } = await client.token.create({ name: "robot", expiry: "1h" });
    const [listed] = await client.token.list();
    expect(listed).toMatchObject({ name: "robot" });
    expect(listed?.expiry?.getTime()).toBeGreaterThan(Date.now());
    const other = new HttpClient({ url: `http://${server.addresses.http ?? ""}` });
    const identity = await other.session.loginWithToken({ token });
    expect(identity.accessToken?.expiry.getTime()).toBeGreaterThan(Date.now());
    const raw = new HttpClient({ url: `http://${server.addresses.http ?? ""}`, jwt: token });
    expect(await raw.stream.list()).toEqual(await other.stream.list());
    expect(await client.token.delete({ name: "robot" })).toBe(true);
    await expect(raw.stream.list()).rejects.toMatchObject({ code: 40 });
    await other.close();
    await raw.close();
  });

  test("login, refresh and logout: the token is the session", async () => {
    const other = new HttpClient({ url: `http://${server.addresses.http ?? ""}` });
    await expect(other.stream.list()).rejects.toMatchObject({ code: 40 });
    expect(await other.system.ping()).toBe(true);
    const first = await other.session.login(credentials);
    const second = await other.session.refreshToken();
    expect(second.userId).toBe(first.userId);
    expect(second.accessToken?.token).not.toBe(first.accessToken?.token);
    expect(await other.stream.list()).toEqual(await client.stream.list());
    expect(await other.session.logout()).toBe(true);
    await expect(other.stream.list()).rejects.toMatchObject({ code: 40 });
    await expect(other.session.login({ username: "iggy", password: "wrong" })).rejects.toMatchObject({ code: 42 });
    await other.close();
  });
});

describe("the node", () => {
  test("stats, options, clients, cluster and snapshot", async () => {
    const stats = await client.system.getStats();
    expect(stats.streamsCount).toBeGreaterThan(0);
    expect(typeof stats.memoryUsage).toBe("bigint");
    expect(stats.startTime.getTime()).toBeLessThanOrEqual(Date.now());
    const options = await client.system.describeOptions({ scope: "topic" });
    expect(options.find(({ key }) => key === "message_expiry")).toMatchObject({ kind: "uint64", updatable: true });
    expect(await client.client.list()).toEqual([]);
    expect(await client.client.get({ clientId: 1 })).toBeNull();
    const cluster = await client.cluster.getClusterMetadata();
    expect(cluster.nodes).toMatchObject([{ role: "leader", status: "healthy" }]);
    const archive = await client.system.snapshot({ types: ["test"] });
    expect(text(archive.subarray(0, 2))).toBe("PK");
  });

  test("metadata changes: history and current state with their typed bodies", async () => {
    const { streamId } = await newTopic();
    await client.user.create({
      username: "observed",
      password: "secret",
      permissions: { global: { readUsers: true } },
    });
    const page = await client.system.getMetadataChanges({ from: "earliest", limit: 1000 });
    const changes = page.records.map(({ change }) => change);
    const made = changes.find((change) => change?.kind === "stream_created" && change.body.name === streamId);
    expect(made).toMatchObject({ kind: "stream_created", body: { name: streamId } });
    expect(
      changes.find((change) => change?.kind === "user_created" && change.body.username === "observed"),
    ).toMatchObject({ body: { permissions: { global: { readUsers: true } } } });
    expect(page.next).toMatch(/^mc1_/);
    const current = await client.system.getMetadataChanges({ from: "current", limit: 1000 });
    expect(new Set(current.items.map(({ group }) => group))).toContain("partitions");
    const after = await client.system.getMetadataChanges({ from: { after: page.next ?? "" } });
    expect(after).toMatchObject({ status: "ok", records: [] });
  });

  test("requests of one's own carry the token", async () => {
    expect(text(await client.sendHttpRequest("GET", "/ping"))).toBe("pong");
    expect(text(await client.sendHttpRequest("GET", "/streams"))).toMatch(/^\[/);
    await expect(client.sendHttpRequest("GET", "/no-such-route")).rejects.toBeInstanceOf(IggyError);
  });
});
