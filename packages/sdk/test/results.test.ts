import { decodeRequest, getMetadataChanges, isResultFramed } from "@iggy/protocol";
import { afterEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { Consumer, DeserializeError } from "../src/index.js";
import { goldenReply } from "./support/golden-replies.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedNode } from "./support/scripted-node.js";

let open: ClientCore | undefined;
afterEach(() => open?.destroy());

/** A client whose server answers a command with these bytes. */
function clientThatGets(code: number, payload: Uint8Array): ClientCore {
  const node = new ScriptedNode((received) => {
    if (received.code !== code) node.answer(received);
    else if (isResultFramed(received.header.operation)) node.commit(received, payload);
    else node.reply(received, payload);
  });
  open = new MemoryNetwork(node).client();
  return open;
}

const created = new Date("2026-02-25T06:13:20.000Z");

describe("figures and descriptions of the server", () => {
  test("stats: 64-bit figures are bigint, times have units", async () => {
    const stats = await clientThatGets(10, goldenReply("Stats", "rich")).system.getStats();
    expect(stats).toMatchObject({
      processId: 4242,
      cpuUsage: 12.5,
      totalMemory: 34359738368n,
      runTimeMs: 3_600_000,
      startTime: created,
      messagesCount: 1099511627776n,
      hostname: "node-1",
      iggyServerVersion: "0.10.0",
      iggyServerSemver: 10000,
      threadsCount: 16,
      openFilesLimit: 1048576n,
    });
    expect(stats.cacheMetrics[0]).toMatchObject({ partitionId: 3, hits: 75n, hitRatio: 0.75 });
    expect(stats).not.toHaveProperty("runTime");
  });

  test("options: kinds by name, flags one by one, defaults as values", async () => {
    const topic = await clientThatGets(13, goldenReply("DescribeOptions", "topic")).system.describeOptions({
      scope: "topic",
    });
    expect(topic).toHaveLength(12);
    expect(topic[2]).toEqual({
      key: "message_expiry",
      kind: "uint64",
      updatable: true,
      resettable: true,
      secret: false,
      readOnly: false,
      critical: false,
      defaultValue: 2n ** 64n - 1n,
      description: "about message_expiry",
    });
    expect(topic.at(-1)).toMatchObject({ key: "replication_factor", defaultValue: undefined });
  });

  test("a secret option says so", async () => {
    const options = await clientThatGets(13, goldenReply("DescribeOptions", "stream")).system.describeOptions({
      scope: 2,
    });
    expect(options[1]).toMatchObject({ key: "encryption_key", kind: "raw", secret: true, critical: true });
    expect(options[2]).toMatchObject({ key: "encryption_key_source", readOnly: true });
  });

  test("the cluster: roles, states and ports by name", async () => {
    const cluster = await clientThatGets(
      12,
      goldenReply("ClusterMetadata", "three_nodes"),
    ).cluster.getClusterMetadata();
    expect(cluster.name).toBe("production");
    expect(cluster.nodes[2]).toEqual({
      replicaId: 2,
      name: "n2",
      ip: "fd00::3",
      endpoints: { tcp: 65535, quic: 0, http: 0, websocket: 0 },
      role: "follower",
      status: "unreachable",
    });
  });

  test("a snapshot is the bytes of the archive", async () => {
    await expect(clientThatGets(11, goldenReply("Snapshot", "bytes")).system.snapshot()).resolves.toEqual(
      Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0xff),
    );
  });
});

describe("resources", () => {
  test("a stream with its topics", async () => {
    const stream = await clientThatGets(200, goldenReply("StreamDetails", "two_topics")).stream.get({ streamId: 7 });
    expect(stream).toMatchObject({
      id: 7,
      name: "telemetry-eu",
      createdAt: created,
      sizeBytes: 2n ** 64n - 1n,
      topicsCount: 2,
    });
    expect(stream?.topics.map(({ name }) => name)).toEqual(["t", "sensor.readings"]);
  });

  test("a topic: set and derived options, the values that hold, partitions with their histories", async () => {
    const topic = await clientThatGets(300, goldenReply("TopicDetails", "three_partitions")).topic.get({
      streamId: 7,
      topicId: 4095,
    });
    expect(topic?.options).toEqual({
      durability: "persisted",
      message_expiry: 604_800_000_000n,
      preallocate_segments: true,
      replication_factor: 3,
      segment_size: 134_217_728n,
    });
    expect(topic?.derivedOptions).toMatchObject({ compression_algorithm: "none", messages_required_to_save: 1024 });
    expect(topic?.resolved).toEqual({
      compressionAlgorithm: "none",
      messageExpiryMicros: 604_800_000_000n,
      maxTopicSize: undefined,
      segmentSize: 134_217_728n,
      durability: "persisted",
      consumerOffsetDurability: "replicated",
      partitionResizePolicy: "mutable",
      messagesRequiredToSave: 1024,
      sizeOfMessagesRequiredToSave: 1_048_576n,
      preallocateSegments: true,
      replicationFactor: 3,
    });
    expect(topic?.partitions[0]).toMatchObject({
      id: 0,
      currentOffset: 41n,
      context: { incarnation: 17n, ownerGeneration: 0n, metadataOp: 90n },
      members: [0, 1, 2],
      inSyncMembers: [0, 2],
    });
  });

  test("a group with its members, and the assignment of a member", async () => {
    const group = { streamId: 1, topicId: 1, groupId: 5 };
    await expect(
      clientThatGets(600, goldenReply("ConsumerGroupDetails", "two_members")).group.get(group),
    ).resolves.toMatchObject({ id: 5, name: "billing workers", members: [{ id: 1 }, { id: 2, partitions: [1] }] });
    await open?.destroy();
    await expect(clientThatGets(606, goldenReply("SyncConsumerGroup", "three")).group.sync(group)).resolves.toEqual({
      generation: 9n,
      partitions: [0, 5, 11],
    });
  });

  test("a stored offset", async () => {
    const offset = await clientThatGets(120, goldenReply("ConsumerOffset", "rich")).offset.get({
      streamId: 1,
      topicId: 1,
      partitionId: 9,
      consumer: Consumer.Single,
    });
    expect(offset).toMatchObject({ partitionId: 9, currentOffset: 2n ** 64n - 1n, storedOffset: 1234n });
  });

  test("what does not exist is null, whatever it is", async () => {
    const empty = new Uint8Array(0);
    const calls: readonly [code: number, call: (client: ClientCore) => Promise<unknown>][] = [
      [200, (client) => client.stream.get({ streamId: "none" })],
      [300, (client) => client.topic.get({ streamId: 1, topicId: "none" })],
      [31, (client) => client.user.get({ userId: "none" })],
      [600, (client) => client.group.get({ streamId: 1, topicId: 1, groupId: "none" })],
      [606, (client) => client.group.sync({ streamId: 1, topicId: 1, groupId: "none" })],
      [21, (client) => client.client.get({ clientId: 9 })],
      [
        120,
        (client) => client.offset.get({ streamId: 1, topicId: 1, partitionId: 0, consumer: Consumer.Named("none") }),
      ],
    ];
    for (const [code, call] of calls) {
      await expect(call(clientThatGets(code, empty)), String(code)).resolves.toBeNull();
      await open?.destroy();
    }
  });
});

describe("users, tokens and connections", () => {
  test("a user with its permissions", async () => {
    const user = await clientThatGets(31, goldenReply("UserDetails", "rich")).user.get({ userId: 7 });
    expect(user).toMatchObject({
      id: 7,
      username: "alice@example.org",
      status: "inactive",
      createdAt: created,
      options: { "custom.key": "value" },
    });
    expect(user?.permissions?.global).toMatchObject({ readServers: true, manageServers: false, pollMessages: true });
    expect(user?.permissions?.streams[1]?.topics[1]).toEqual({
      topicId: 4095,
      manageTopic: false,
      readTopic: true,
      pollMessages: false,
      sendMessages: true,
    });
  });

  test("a user without permissions has null, not a set of none", async () => {
    const user = await clientThatGets(31, goldenReply("UserDetails", "no_permissions")).user.get({ userId: 1 });
    expect(user?.permissions).toBeNull();
    await open?.destroy();
    const none = await clientThatGets(31, goldenReply("UserDetails", "permissions_none_set")).user.get({ userId: 1 });
    expect(none?.permissions?.streams).toEqual([]);
  });

  test("tokens: a date, or null for never", async () => {
    const tokens = await clientThatGets(41, goldenReply("PersonalAccessTokens", "two")).token.list();
    expect(tokens).toEqual([
      { name: "nightly build token", expiry: new Date("2026-02-26T06:13:20.000Z") },
      { name: "x", expiry: null },
    ]);
  });

  test("a new token is shown once, by its creation", async () => {
    const { token } = await clientThatGets(42, goldenReply("RawPersonalAccessToken", "typical")).token.create({
      name: "build",
    });
    expect(token).toBe("VGhpcyBpcyBhIHRlc3QgdG9rZW4gb2YgZmlmdHkgYnl0ZXMgMTIzNDU2Nzg5MCE=");
  });

  test("connections: no user before sign-in, transports by name", async () => {
    const client = await clientThatGets(21, goldenReply("ClientDetails", "unauthenticated_empty_address")).client.get({
      clientId: 0,
    });
    expect(client).toMatchObject({ userId: null, transport: "quic", address: "", consumerGroups: [] });
    await open?.destroy();
    const me = await clientThatGets(20, goldenReply("ClientDetails", "two_groups")).client.getMe();
    expect(me).toMatchObject({ userId: 5, transport: "ws", consumerGroupsCount: 2 });
    expect(me.consumerGroups[1]).toEqual({ streamId: 4, topicId: 5, groupId: 6 });
  });
});

describe("metadata changes", () => {
  test("records with decoded changes, actors and a cursor behind each", async () => {
    const page = await clientThatGets(17, goldenReply("GetMetadataChanges", "records")).system.getMetadataChanges({
      from: "earliest",
    });
    expect(page).toMatchObject({ status: "ok", phase: "changes", headOp: 42n, hasMore: true, items: [] });
    const [first, second] = page.records;
    expect(first).toMatchObject({ op: 43n, ordinal: 0, timestampMicros: 1_772_000_000_000_043n, actorUserId: null });
    expect(first?.group).toBe("streams");
    expect(first?.change).toBeDefined();
    expect(second?.actorUserId).toBe(1);
    const cursors = page.records.map(({ cursor }) => cursor);
    expect(new Set(cursors).size).toBe(page.records.length);
    expect(cursors.every((cursor) => cursor?.startsWith("mc1_") === true)).toBe(true);
  });

  test("the cursor of a page is where the next request begins", async () => {
    const node = new ScriptedNode((received) => {
      if (received.code === 17) node.reply(received, goldenReply("GetMetadataChanges", "ok_nothing_new"));
      else node.answer(received);
    });
    open = new MemoryNetwork(node).client();
    const { next } = await open.system.getMetadataChanges({ from: "latest" });
    await open.system.getMetadataChanges({ from: { after: next ?? "" } });
    const starts = node.of(getMetadataChanges).map(({ body }) => decodeRequest(getMetadataChanges, body).start);
    expect(starts).toEqual([
      { mode: "latest" },
      {
        mode: "after",
        cursor: { logId: 88962710306127702866241727433142015n, op: 42n, checksum: 3735928559n, ordinal: 1 },
      },
    ]);
  });

  test("the current state, page by page", async () => {
    const page = await clientThatGets(
      17,
      goldenReply("GetMetadataChanges", "current_items_with_token"),
    ).system.getMetadataChanges({ from: "current", groups: ["streams"] });
    expect(page.phase).toBe("current");
    expect(page.items).toHaveLength(8);
    expect(page.currentPageToken).toMatch(/^cs1_/);
  });

  test.each(["behind", "expired", "reset_without_log"])("status %s is no error", async (name) => {
    const page = await clientThatGets(17, goldenReply("GetMetadataChanges", name)).system.getMetadataChanges({
      from: "latest",
    });
    expect(page.status).toBe(name.split("_")[0]);
    expect(page.records).toEqual([]);
  });
});

describe("replies that are none", () => {
  test("cut short, they end the call with a typed error and the link lives on", async () => {
    const whole = goldenReply("UserDetails", "rich");
    for (const length of [1, 4, 20, whole.length - 1]) {
      const client = clientThatGets(31, whole.subarray(0, length));
      await expect(client.user.get({ userId: 7 }), String(length)).rejects.toThrow(DeserializeError);
      await expect(client.system.ping()).resolves.toBe(true);
      await open?.destroy();
    }
  });

  test("an option called __proto__ is an option", async () => {
    const key = new TextEncoder().encode("__proto__");
    const entry = [2, key.length, 0, 0, 0, ...key, 2, 1, 0, 0, 0, 120];
    const stream = [...new Uint8Array(32), 1, 115, entry.length, 0, 0, 0, ...entry, 0, 0, 0, 0];
    const found = await clientThatGets(200, Uint8Array.from(stream)).stream.get({ streamId: 1 });
    expect(Object.entries(found?.options ?? {})).toEqual([["__proto__", "x"]]);
  });
});
