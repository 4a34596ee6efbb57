import { getStream, getTopic, ping, pollMessagesDeferred } from "@iggy/protocol";
import { expect, test } from "vitest";
import { Consumer, DisconnectedError, PollingStrategy, ProtocolFrameError } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { type Received, ScriptedNode } from "./support/scripted-node.js";

const streamReply = (id: number, name: string): Uint8Array => {
  const text = new TextEncoder().encode(name);
  const bytes = new Uint8Array(32 + 1 + text.length + 8);
  new DataView(bytes.buffer).setUint32(0, id, true);
  bytes[32] = text.length;
  bytes.set(text, 33);
  return bytes;
};

const wantedId = ({ body }: Received): number => new DataView(body.buffer, body.byteOffset).getUint32(2, true);

test("replies in any order reach the calls they belong to, over one connection", async () => {
  const held: Received[] = [];
  const node = new ScriptedNode((received) => {
    if (received.code === getStream.code) held.push(received);
    else node.answer(received);
  });
  const network = new MemoryNetwork(node);
  await using client = network.client();
  await client.connect();
  const calls = Array.from({ length: 100 }, (_, id) => client.stream.get({ streamId: id }));
  await node.until(getStream, 100);
  // An order that mixes early and late ones.
  for (const received of [...held].sort((a, b) => ((wantedId(a) * 37) % 100) - ((wantedId(b) * 37) % 100))) {
    node.reply(received, streamReply(wantedId(received), `stream-${String(wantedId(received))}`));
  }
  const streams = await Promise.all(calls);
  expect(streams.map((stream) => stream?.name)).toEqual(calls.map((_, id) => `stream-${String(id)}`));
  expect(network.connections).toHaveLength(1);
});

test("a waiting poll holds up nobody", async () => {
  const node = new ScriptedNode((received) => {
    if (received.code !== pollMessagesDeferred.code) node.answer(received);
  });
  const network = new MemoryNetwork(node);
  await using client = network.client();
  const abort = new AbortController();
  const poll = client.message.poll(
    {
      streamId: 1,
      topicId: 1,
      partitionId: 0,
      consumer: Consumer.Named(1),
      pollingStrategy: PollingStrategy.First,
      options: { maxWait: 60_000 },
    },
    { signal: abort.signal },
  );
  await node.until(pollMessagesDeferred, 1);
  await expect(client.stream.get({ streamId: 1 })).resolves.toBeNull();
  await client.message.send({
    streamId: 1,
    topicId: 1,
    partition: { kind: "partition_id", partitionId: 0 },
    messages: [{ payload: "a" }],
  });
  abort.abort();
  await expect(poll).rejects.toThrow();
});

test("no more than 256 requests are in flight; the others wait their turn", async () => {
  const held: Received[] = [];
  const node = new ScriptedNode((received) => {
    if (received.code === getStream.code) held.push(received);
    else node.answer(received);
  });
  await using client = new MemoryNetwork(node).client();
  await client.connect();
  const calls = Array.from({ length: 300 }, (_, id) => client.stream.get({ streamId: id }));
  await node.until(getStream, 256);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(node.of(getStream)).toHaveLength(256);
  while (held.length > 0) {
    for (const received of held.splice(0)) node.reply(received);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(calls);
  expect(node.of(getStream)).toHaveLength(300);
});

test("a full send buffer delays requests, keeps their order, and loses none", async () => {
  const node = new ScriptedNode();
  const network = new MemoryNetwork(node);
  network.faults = [{ slowWriter: true }];
  await using client = network.client();
  await client.connect();
  await Promise.all(Array.from({ length: 50 }, (_, id) => client.stream.get({ streamId: id })));
  expect(node.of(getStream).map(wantedId)).toEqual(Array.from({ length: 50 }, (_, id) => id));
});

test("a reply that nobody waits for any more is passed over", async () => {
  let late: Received | undefined;
  const node = new ScriptedNode((received) => {
    if (received.code === getStream.code && late === undefined) late = received;
    else node.answer(received);
  });
  await using client = new MemoryNetwork(node).client();
  await client.connect();
  await expect(client.stream.get({ streamId: 1 }, { timeout: 20 })).rejects.toMatchObject({ code: 57 });
  if (late !== undefined) node.reply(late, streamReply(1, "late"));
  await expect(client.topic.get({ streamId: 1, topicId: 1 })).resolves.toBeNull();
  expect(node.dials).toBe(1);
  expect(node.of(getTopic)).toHaveLength(1);
});

test.each([
  ["a size below a header", (frame: Uint8Array) => new DataView(frame.buffer).setUint32(48, 12, true)],
  ["a command that is no answer", (frame: Uint8Array) => (frame[60] = 1)],
  ["an operation that nobody knows", (frame: Uint8Array) => (frame[208] = 99)],
])("%s ends the link; the read goes on over a new one", async (_what, damage) => {
  let isDamaged = false;
  const node = new ScriptedNode((received) => {
    if (received.code !== getStream.code || isDamaged) {
      node.answer(received);
      return;
    }
    isDamaged = true;
    const original = received.wire;
    const wire = {
      ...original,
      write: (bytes: Uint8Array) => {
        const frame = new Uint8Array(bytes);
        damage(frame);
        original.write(frame);
      },
    };
    node.reply({ ...received, wire });
  });
  const network = new MemoryNetwork(node);
  await using client = network.client();
  await expect(client.stream.get({ streamId: 1 })).resolves.toBeNull();
  expect(network.connections).toHaveLength(2);
});

test("a reply that is malformed again and again is an error, not an endless loop", async () => {
  const node = new ScriptedNode((received) => {
    if (received.code !== getStream.code) {
      node.answer(received);
      return;
    }
    const frame = new Uint8Array(256);
    new DataView(frame.buffer).setUint32(48, 2 ** 31, true);
    frame[60] = 8;
    received.wire.write(frame);
  });
  await using client = new MemoryNetwork(node).client();
  const error = await client.stream.get({ streamId: 1 }).catch((failure: unknown) => failure);
  expect((error as Error).cause).toBeInstanceOf(ProtocolFrameError);
  expect(node.of(getStream)).toHaveLength(2);
});

test("a reply above the frame limit is refused by its size, before it is buffered", async () => {
  const node = new ScriptedNode((received) => {
    if (received.code === getStream.code) node.reply(received, new Uint8Array(10_000));
    else node.answer(received);
  });
  await using client = new MemoryNetwork(node).client({ maxResponseFrameSize: 4096 });
  const error = await client.stream.get({ streamId: 1 }).catch((failure: unknown) => failure);
  expect((error as Error).cause).toMatchObject({ name: "ProtocolFrameError" });
});

test("what waits on a link that goes away with the client gets an error", async () => {
  const node = new ScriptedNode((received) => {
    if (received.code !== getStream.code) node.answer(received);
  });
  const client = new MemoryNetwork(node).client();
  await client.connect();
  const call = client.stream.get({ streamId: 1 });
  await node.until(getStream, 1);
  await client.disconnect();
  await expect(call).rejects.toBeInstanceOf(DisconnectedError);
  await client.close();
  expect(node.of(ping)).toHaveLength(0);
});
