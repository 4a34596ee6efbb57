import { createStream, createTopic, joinConsumerGroup } from "@iggy/protocol";
import { expect, test } from "vitest";
import { streamBuilders } from "../../src/stream-pair/index.js";
import { ClientCore } from "../../src/client/client.js";
import type { MessageConsumer } from "../../src/index.js";
import { MemoryNetwork } from "../support/memory-network.js";
import { ScriptedBroker } from "../support/scripted-broker.js";

function setUp() {
  const node = new ScriptedBroker();
  const network = new MemoryNetwork(node);
  /** Clients of the network, whatever the connection string says. */
  class NetworkClient extends ClientCore {
    constructor() {
      super(
        { credentials: { username: "iggy", password: "iggy" }, heartbeatInterval: 0 },
        { loadTransport: () => Promise.resolve(network.transport) },
      );
    }
  }
  return { node, network, NetworkClient, ...streamBuilders(NetworkClient) };
}

async function firstText(consumer: MessageConsumer): Promise<string | undefined> {
  for await (const { message } of consumer) return message.text();
  return undefined;
}

const place = { stream: "s", topic: "t" } as const;

test("a pair from a connection string is ready: what its producer sends, its consumer gets", async () => {
  const { node, createStreamPair } = setUp();
  const pair = await createStreamPair("iggy://iggy:iggy@anywhere:8090", place);
  await pair.producer.send({ payload: "hello" });
  expect(await firstText(pair.consumer)).toBe("hello");
  await pair[Symbol.asyncDispose]();
  expect(node.of(joinConsumerGroup)).toHaveLength(1);
  await expect(pair.client.stream.list()).rejects.toMatchObject({ code: 63 });
});

test("a client that was given stays open when the pair ends", async () => {
  const { NetworkClient, createStreamProducer, createStreamConsumer } = setUp();
  await using client = new NetworkClient();
  const made = await createStreamProducer(client, { ...place, producer: { mode: "background" } });
  expect(made.client).toBe(client);
  await made.producer.send({ payload: "hello" });
  await made[Symbol.asyncDispose]();
  await using reading = await createStreamConsumer(client, { ...place, standalone: { name: "reader" } });
  expect(reading.consumer.partitions).toEqual([0]);
  expect(await firstText(reading.consumer)).toBe("hello");
});

test("a client that was made for it ends when something is missing, and nothing else is left", async () => {
  const { node, createStreamProducer } = setUp();
  node.topicExists = false;
  await expect(
    createStreamProducer("iggy://iggy:iggy@anywhere:8090", { ...place, producer: { createTopic: false } }),
  ).rejects.toMatchObject({ code: 2010 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(node.wires.size).toBe(0);
  expect(node.of(createTopic)).toHaveLength(0);
  expect(node.of(createStream)).toHaveLength(0);
});

test("two kinds of consumers at once are refused", async () => {
  const { createStreamConsumer } = setUp();
  await expect(
    createStreamConsumer("iggy://iggy:iggy@anywhere:8090", { ...place, consumer: {}, standalone: { name: "a" } }),
  ).rejects.toThrow(/consumer.*standalone/);
});
