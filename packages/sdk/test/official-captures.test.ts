import {
  decodeRequest,
  encodeRequest,
  HEADER_SIZE,
  loginRegister,
  MessageCursor,
  ping,
  pollMessagesDeferred,
  RequestHeader,
  sendMessages,
} from "@iggy/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type Client,
  CommitPolicy,
  Consumer,
  Partitioning,
  type PolledMessages,
  PollingStrategy,
} from "../src/index.js";
import {
  bytesOf,
  type CapturedCall,
  type CapturedRequest,
  hexOf,
  repliesOf,
  requestsOf,
  singleNode,
} from "./support/captures.js";
import { clientOf } from "./support/clients.js";
import { type Received, ScriptedServer } from "./support/scripted-server.js";

/*
 * Each call of the official client, made with ours: the frames must be the same byte for byte apart from what is random
 * (client id, identifiers, bind secret) or follows the clock, and the replies that it accepted must do.
 */

let server: ScriptedServer;
let client: Client;
let script: CapturedCall | undefined;
let polled: PolledMessages;

/** Request numbers run as in the capture, from the last call that it was not possible to repeat. */
let numberShift = 0n;

const replyTo = (received: Received): void => {
  const index = stepRequests().indexOf(received);
  const reply = script === undefined ? undefined : repliesOf(script)[index];
  if (reply === undefined) {
    server.answer(received);
    return;
  }
  const frame = new Uint8Array([...bytesOf(reply.header_hex), ...bytesOf(reply.body_hex)]);
  // The identity and the number of this client in place of the captured ones.
  frame.set(received.frame.subarray(144, 160), 128);
  frame.set(received.frame.subarray(128, 144), 160);
  frame.set(received.frame.subarray(168, 176), 200);
  received.wire.write(frame);
};

let stepStart = 0;
const stepRequests = (): Received[] => server.received.slice(stepStart);

beforeAll(async () => {
  server = await ScriptedServer.start(replyTo);
  client = clientOf(server, { name: "rust-sdk", version: "0.11.1-edge.9", heartbeatInterval: 60_000 });
});

afterAll(async () => {
  await client.destroy();
  await server.close();
});

const messagesOf = (call: CapturedCall) => {
  const captured = requestsOf(call).find(({ code }) => code === sendMessages.code);
  const { batch } = decodeRequest(sendMessages, bytesOf(captured?.body_hex ?? ""));
  const cursor = new MessageCursor().records(batch);
  const messages = [];
  while (cursor.next()) {
    messages.push({
      id: cursor.id,
      payload: new Uint8Array(cursor.payload),
      originTimestamp: cursor.originTimestampBig,
    });
  }
  return messages;
};

const partition0 = { streamId: 1, topicId: 1, partitionId: 0 };
const consumer = Consumer.Named(1);
const workers = Consumer.Group("workers");
const ten = { count: 10 };
const send = (partition: Partitioning) => (call: CapturedCall) =>
  client.message.send({ streamId: 1, topicId: 1, partition, messages: messagesOf(call) });
const toPartition0 = send(Partitioning.PartitionId(0));

const calls: Readonly<Record<string, (call: CapturedCall) => Promise<unknown>>> = {
  connect: () => client.connect().then(() => server.until(ping, 1)),
  ping: () => client.sendBinaryRequest(ping.code, new Uint8Array(0)),
  get_stats: () => client.system.getStats(),
  get_me: () => client.client.getMe(),
  get_client: () => client.client.get({ clientId: 5 }),
  get_clients: () => client.client.list(),
  get_cluster_metadata: () => client.cluster.getClusterMetadata(),
  describe_options_topic: () => client.system.describeOptions({ scope: "topic" }),
  snapshot: () => client.system.snapshot({ types: ["test"] }),
  get_metadata_changes: () => client.system.getMetadataChanges({ from: "earliest" }),
  get_user: () => client.user.get({ userId: 7 }),
  get_users: () => client.user.list(),
  create_user: () => client.user.create({ username: "alice", password: "secret" }),
  update_user: () => client.user.update({ userId: 7, status: "inactive" }),
  update_permissions: () => client.user.updatePermissions({ userId: 7, permissions: null }),
  change_password: () => client.user.changePassword({ userId: 7, currentPassword: "secret", newPassword: "topsecret" }),
  delete_user: () => client.user.delete({ userId: 7 }),
  get_personal_access_tokens: () => client.token.list(),
  create_personal_access_token: () => client.token.create({ name: "ci-token" }),
  delete_personal_access_token: () => client.token.delete({ name: "ci-token" }),
  create_stream: () => client.stream.create({ name: "orders" }),
  get_stream: () => client.stream.get({ streamId: "orders" }),
  get_streams: () => client.stream.list(),
  update_stream: () => client.stream.update({ streamId: 1, name: "orders2" }),
  create_topic_defaults: () => client.topic.create({ streamId: 1, name: "events" }),
  create_topic_rich: () =>
    client.topic.create({
      streamId: 1,
      name: "events",
      partitionCount: 3,
      messageExpiry: "7 days",
      durability: "persisted",
      replicationFactor: 3,
    }),
  get_topic: () => client.topic.get({ streamId: 1, topicId: 1 }),
  get_topics: () => client.topic.list({ streamId: 1 }),
  update_topic: () => client.topic.update({ streamId: 1, topicId: 1, messageExpiry: 5n }),
  create_partitions: () => client.partition.create({ streamId: 1, topicId: 1, partitionCount: 3 }),
  delete_partitions: () => client.partition.delete({ streamId: 1, topicId: 1, partitionCount: 1 }),
  delete_segments: () => client.segment.delete({ ...partition0, segmentsCount: 1 }),
  send_messages_first_time_to_partition: toPartition0,
  send_messages_again: toPartition0,
  send_messages_by_key: send(Partitioning.MessageKey("orders")),
  send_messages_balanced: send(Partitioning.Balanced),
  next_producer_id: async () => expect(await client.message.nextProducerId()).toBe(4939841536n),
  send_producer_messages: (call) =>
    client.message.sendIdempotent({
      ...partition0,
      producer: { id: 4939841536n, epoch: 0, sequence: 0 },
      messages: messagesOf(call),
    }),
  send_messages_after_not_primary: toPartition0,
  send_messages_after_transient_not_accepted: toPartition0,
  poll_messages_no_wait: () =>
    client.message.poll({ ...partition0, consumer, pollingStrategy: PollingStrategy.Offset(10), options: ten }),
  poll_messages_wait_1s: () =>
    client.message.poll({
      ...partition0,
      consumer,
      pollingStrategy: PollingStrategy.Next,
      options: { ...ten, maxWait: 1000 },
    }),
  poll_messages_commit_on_read: () =>
    client.message.poll({ ...partition0, consumer, options: { ...ten, commit: CommitPolicy.OnRead } }),
  store_consumer_offset: () => client.offset.store({ ...partition0, consumer, offset: 10 }),
  get_consumer_offset: () => client.offset.get({ ...partition0, consumer }),
  delete_consumer_offset: () => client.offset.delete({ ...partition0, consumer }),
  poll_for_checkpoint: async () => {
    polled = await client.message.poll({
      ...partition0,
      consumer,
      pollingStrategy: PollingStrategy.Offset(10),
      options: ten,
    });
  },
  store_consumer_position: () =>
    client.offset.commit({ streamId: 1, topicId: 1, consumer, checkpoint: polled.checkpointAt(0) }),
  poll_continuation: () =>
    client.message.poll({ ...partition0, consumer, pollingStrategy: polled.continuation, options: ten }),
  delete_consumer_position: () =>
    client.offset.deleteAt({ streamId: 1, topicId: 1, consumer, checkpoint: polled.checkpointAt(0) }),
  create_consumer_group: () => client.group.create({ streamId: 1, topicId: 1, name: "workers" }),
  get_consumer_group: () => client.group.get({ streamId: 1, topicId: 1, groupId: "workers" }),
  get_consumer_groups: () => client.group.list({ streamId: 1, topicId: 1 }),
  join_consumer_group: () => client.group.join({ streamId: 1, topicId: 1, groupId: "workers" }),
  sync_consumer_group: () => client.group.sync({ streamId: 1, topicId: 1, groupId: "workers" }),
  group_poll: async () => {
    polled = await client.message.poll({ ...partition0, consumer: workers, options: ten });
  },
  group_store_position: () =>
    client.offset.commit({ streamId: 1, topicId: 1, consumer: workers, checkpoint: polled.checkpointAt(0) }),
  group_poll_continuation: () =>
    client.message.poll({ ...partition0, consumer: workers, pollingStrategy: polled.continuation, options: ten }),
  group_store_offset: () => client.offset.store({ ...partition0, consumer: workers, offset: 10 }),
  leave_consumer_group: () => client.group.leave({ streamId: 1, topicId: 1, groupId: "workers" }),
  delete_consumer_group: () => client.group.delete({ streamId: 1, topicId: 1, groupId: "workers" }),
  delete_topic: () => client.topic.delete({ streamId: 1, topicId: 1 }),
  delete_stream: () => client.stream.delete({ streamId: 1 }),
  logout: () => client.session.logout(),
  login_again: () => client.session.login({ username: "iggy", password: "iggy" }),
  logout_again: () => client.session.logout(),
  login_with_token: () => client.session.loginWithToken({ token: "sometoken" }),
};

/** Calls that send nothing, that are the work of a reader, or after which both clients do as they like. */
const left: ReadonlySet<string> = new Set([
  "after_connect_background",
  "reader_three_partitions",
  "ping_after_logout",
  "disconnect",
  "shutdown",
]);

test("every captured call has one of ours", () => {
  const open = singleNode.filter(({ call }) => calls[call] === undefined && !left.has(call));
  expect(open.map(({ call }) => call)).toEqual([]);
});

for (const captured of singleNode.filter(({ call }) => calls[call] !== undefined)) {
  test(`${captured.call} sends the official frames and takes the replies`, async () => {
    stepStart = server.received.length;
    script = captured;
    await calls[captured.call]?.(captured);
    const expected = requestsOf(captured);
    const actual = stepRequests();
    expect(actual.map(({ code }) => code)).toEqual(expected.map(({ code }) => (code === 45 ? 40 : code)));
    expected.forEach((request, index) => {
      const received = actual[index];
      if (received !== undefined) expectSame(received, request);
    });
  });
}

function expectSame(received: Received, expected: CapturedRequest): void {
  const ours = new Uint8Array(received.frame.subarray(0, HEADER_SIZE));
  const theirs = bytesOf(expected.header_hex);
  const header = new RequestHeader();
  expect(header.at(ours).requestChecksum === 0n).toBe(expected.request_checksum === "zero");
  expect(header.at(ours).client).not.toBe(0n);
  compareNumbers(received.header, header.at(theirs));
  for (const bytes of [ours, theirs]) bytes.fill(0, 128, 160).fill(0, 168, 176);
  expect(hexOf(ours)).toBe(hexOf(theirs));
  expect(normalized(received.code, received.body)).toBe(normalized(received.code, bytesOf(expected.body_hex)));
}

function compareNumbers(ours: RequestHeader, theirs: RequestHeader): void {
  if (theirs.request === 0) {
    expect(ours.request).toBe(0);
    return;
  }
  const shift = ours.requestBig - theirs.requestBig;
  // The reader's eight requests are the only ones that ours does not make.
  expect([0n, -8n]).toContain(shift);
  expect(shift <= numberShift).toBe(true);
  numberShift = shift;
}

/** The body without secrets, and with the times of a waiting read rounded to what the caller asked for. */
function normalized(code: number, body: Uint8Array): string {
  if (code === loginRegister.code) {
    const secretAt = 4 + 1 + "rust-sdk".length + 1 + "0.11.1-edge.9".length;
    return hexOf(new Uint8Array(body).fill(0, secretAt, secretAt + 32));
  }
  if (code !== pollMessagesDeferred.code) return hexOf(body);
  const request = decodeRequest(pollMessagesDeferred, body);
  const roundUp = (micros: bigint): bigint => ((micros + 999_999n) / 1_000_000n) * 1_000_000n;
  return hexOf(
    encodeRequest(pollMessagesDeferred, {
      ...request,
      waitUs: roundUp(request.waitUs),
      requestTimeoutUs: roundUp(request.requestTimeoutUs),
    }),
  );
}
