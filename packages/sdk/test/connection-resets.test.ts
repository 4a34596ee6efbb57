import { createStream, getStream, pollMessagesDeferred, sendMessages } from "@iggy/protocol";
import { expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { CommitPolicy, Consumer, IggyError, Partitioning, PollingStrategy } from "../src/index.js";
import { hexOf } from "./support/captures.js";
import { type Carrier, carriers, type Faults, MemoryNetwork } from "./support/memory-network.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { ScriptedNode } from "./support/scripted-node.js";

/*
 * The connection breaks at every byte of a request and at every byte of its reply. Every call settles; a write goes out
 * again only as the frozen frame; a read that may have moved an offset does not go out again.
 */

interface Case {
  readonly what: string;
  readonly command: { readonly code: number };
  readonly call: (client: ClientCore) => Promise<unknown>;
  /** Code of the error that a reset may lead to once the request was sent. */
  readonly errorAfterSend?: number;
}

const partition0 = { streamId: 1, topicId: 1, partitionId: 0, consumer: Consumer.Named(1) };

const cases: readonly Case[] = [
  { what: "a metadata write", command: createStream, call: (client) => client.stream.create({ name: "orders" }) },
  {
    what: "a send",
    command: sendMessages,
    call: (client) =>
      client.message.send({
        streamId: 1,
        topicId: 1,
        partition: Partitioning.PartitionId(0),
        messages: [{ payload: "hello" }],
      }),
  },
  { what: "a read", command: getStream, call: (client) => client.stream.get({ streamId: 1 }) },
  {
    what: "a read from an offset",
    command: pollMessagesDeferred,
    call: (client) => client.message.poll({ ...partition0, pollingStrategy: PollingStrategy.Offset(0) }),
  },
  {
    what: "a read from the stored offset",
    command: pollMessagesDeferred,
    call: (client) => client.message.poll({ ...partition0, pollingStrategy: PollingStrategy.Next }),
    errorAfterSend: 57,
  },
  {
    what: "a committing read",
    command: pollMessagesDeferred,
    call: (client) => client.message.poll({ ...partition0, options: { commit: CommitPolicy.OnRead } }),
    errorAfterSend: 14010,
  },
];

function makeNode(): ScriptedNode {
  const partition = new ScriptedPartition();
  partition.appendTexts("a", "b", "c");
  const node: ScriptedNode = new ScriptedNode((received) => {
    if (received.code === pollMessagesDeferred.code) partition.serve(node, received);
    else if (received.code === createStream.code) {
      const name = new TextEncoder().encode("orders");
      node.commit(received, Uint8Array.from([...new Uint8Array(32), 6, ...name, ...new Uint8Array(8)]));
    } else node.answer(received);
  });
  return node;
}

interface Traffic {
  readonly sentBefore: number;
  readonly sent: number;
  readonly receivedBefore: number;
  readonly received: number;
}

/** Where in the streams the request and its reply lie, when nothing breaks. */
async function trafficOf(testCase: Case, carrier: Carrier): Promise<Traffic> {
  const node = makeNode();
  const network = new MemoryNetwork(node, carrier);
  const client = await prepared(network);
  const [connection] = network.connections;
  if (connection === undefined) throw new Error("no connection");
  const { sentBytes: sentBefore, receivedBytes: receivedBefore } = connection;
  await testCase.call(client);
  const { sentBytes: sent, receivedBytes: received } = connection;
  await client.destroy();
  return { sentBefore, sent, receivedBefore, received };
}

/** A client that is signed in and knows its route, so that the next bytes are those of the call. */
async function prepared(network: MemoryNetwork): Promise<ClientCore> {
  const client = network.client();
  await client.connect();
  await client.cluster.getRoute({ streamId: 1, topicId: 1, partitionId: 0 });
  return client;
}

/** One call whose connection breaks on the way; the next one holds. */
async function breakOnce(
  testCase: Case,
  carrier: Carrier,
  faults: Faults,
  where: string,
): Promise<{ outcome: unknown; seen: number }> {
  const node = makeNode();
  const network = new MemoryNetwork(node, carrier);
  network.faults = [faults, {}];
  await using client = await prepared(network);
  const outcome = await testCase.call(client).then(
    () => "done",
    (error: unknown) => (IggyError.is(error) ? error.code : error),
  );
  expect(outcome, where).toBe(testCase.errorAfterSend ?? "done");
  const frames = node.of(testCase.command).map(({ frame }) => hexOf(frame.subarray(0, 256)));
  expect(new Set(frames).size, where).toBeLessThanOrEqual(1);
  if (testCase.errorAfterSend !== 14010) expect(client.operation.list(), where).toEqual([]);
  return { outcome, seen: frames.length };
}

for (const [carrier, testCase] of carriers.flatMap((over) => cases.map((each) => [over, each] as const))) {
  const isRepeated = testCase.errorAfterSend === undefined;

  test(`${testCase.what} survives a reset at every byte of its request over ${carrier}`, async () => {
    const { sentBefore, sent } = await trafficOf(testCase, carrier);
    for (let at = sentBefore; at < sent; at++) {
      const where = `request byte ${String(at - sentBefore)}`;
      const { seen } = await breakOnce(testCase, carrier, { breakAfterSent: at }, where);
      // The first frame never arrived whole; the client can not know, so only what may be repeated is.
      expect(seen, where).toBe(isRepeated ? 1 : 0);
    }
  });

  test(`${testCase.what} survives a reset at every byte of its reply over ${carrier}`, async () => {
    const { receivedBefore, received } = await trafficOf(testCase, carrier);
    for (let at = receivedBefore; at < received; at++) {
      const where = `reply byte ${String(at - receivedBefore)}`;
      const { seen } = await breakOnce(testCase, carrier, { breakAfterReceived: at }, where);
      expect(seen, where).toBe(isRepeated ? 2 : 1);
    }
  });
}
