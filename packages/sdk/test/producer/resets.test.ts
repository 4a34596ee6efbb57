import { sendMessages } from "@iggy/protocol";
import { expect, test } from "vitest";
import type { ClientCore } from "../../src/client/client.js";
import { type Producer, type ProducerOptions, Partitioning, type SendFailure } from "../../src/index.js";
import { type Faults, MemoryNetwork } from "../support/memory-network.js";
import { ProducerLedger } from "../support/producer-ledger.js";

/*
 * The connection breaks at every byte of a request of a producer and at every byte of its reply, while further sends
 * wait. Every promise settles, every message that was acknowledged is there once, and the order of the calls holds.
 */

const base = { streamId: "s", topicId: "t", partitioning: Partitioning.PartitionId(0) } as const;

const kinds: Readonly<Record<string, ProducerOptions>> = {
  "a direct producer": base,
  "an idempotent producer": { ...base, idempotent: true },
  "a background producer": { ...base, mode: "background", linger: 0, batchLength: 2 },
  "an idempotent background producer": { ...base, mode: "background", linger: 0, batchLength: 2, idempotent: true },
};

const texts = ["one", "two", "three", "four"];

interface Run {
  readonly network: MemoryNetwork;
  readonly node: ProducerLedger;
  readonly client: ClientCore;
  readonly producer: Producer;
  readonly failures: SendFailure[];
}

async function prepare(options: ProducerOptions, faults: Faults[]): Promise<Run> {
  const node = new ProducerLedger(1);
  const network = new MemoryNetwork(node);
  network.faults = faults;
  const client = network.client();
  const failures: SendFailure[] = [];
  const onError = (failure: SendFailure): void => void failures.push(failure);
  const producer = client.producer(options.mode === "background" ? { ...options, onError } : options);
  await producer.init();
  await client.cluster.getRoute({ streamId: "s", topicId: "t", partitionId: 0 });
  return { network, node, client, producer, failures };
}

async function sendAll({ producer }: Run): Promise<void> {
  await Promise.all(texts.map((payload) => producer.sendOne({ payload })));
  await producer.flush();
}

/** Where in the streams the first request and its reply lie, when nothing breaks. */
async function trafficOf(options: ProducerOptions): Promise<{ sent: [number, number]; received: [number, number] }> {
  const run = await prepare(options, [{}]);
  const [connection] = run.network.connections;
  if (connection === undefined) throw new Error("no connection");
  const sentBefore = connection.sentBytes;
  const receivedBefore = connection.receivedBytes;
  const first = run.producer.sendOne({ payload: "one" });
  await first;
  await run.producer.flush();
  const traffic: { sent: [number, number]; received: [number, number] } = {
    sent: [sentBefore, connection.sentBytes],
    received: [receivedBefore, connection.receivedBytes],
  };
  await run.client.destroy();
  return traffic;
}

async function breakAt(options: ProducerOptions, faults: Faults, where: string): Promise<void> {
  const run = await prepare(options, [faults, {}]);
  await sendAll(run);
  expect(run.failures, where).toEqual([]);
  expect(run.node.textsOf(0), where).toEqual(texts);
  expect(run.client.operation.list(), where).toEqual([]);
  expect(run.node.of(sendMessages).length, where).toBeGreaterThan(0);
  await run.client.close();
}

for (const [kind, options] of Object.entries(kinds)) {
  test(`${kind} survives a reset at every byte of a request`, { timeout: 60_000 }, async () => {
    const { sent } = await trafficOf(options);
    expect(sent[1] - sent[0]).toBeGreaterThan(500);
    for (let at = sent[0]; at < sent[1]; at++) {
      await breakAt(options, { breakAfterSent: at }, `request byte ${String(at - sent[0])}`);
    }
  });

  test(`${kind} survives a reset at every byte of a reply`, { timeout: 60_000 }, async () => {
    const { received } = await trafficOf(options);
    expect(received[1] - received[0]).toBeGreaterThan(256);
    for (let at = received[0]; at < received[1]; at++) {
      await breakAt(options, { breakAfterReceived: at }, `reply byte ${String(at - received[0])}`);
    }
  });
}
