import { getStream } from "@iggy/protocol";
import { afterEach, expect, test } from "vitest";
import type { ClientCore } from "../../src/client/client.js";
import type { ProducerOptions } from "../../src/index.js";
import { MemoryNetwork } from "../support/memory-network.js";
import { ScriptedBroker } from "../support/scripted-broker.js";

/* Every option is checked before anything is sent, and the error names the one that is wrong. */

const node = new ScriptedBroker();
let client: ClientCore = new MemoryNetwork(node).client();
afterEach(async () => {
  await client.destroy();
  client = new MemoryNetwork(node).client();
});

const background = { mode: "background" };

test.each<[string, Record<string, unknown>]>([
  ["streamId", { streamId: "" }],
  ["topicId", { topicId: -1 }],
  ["topicId", { topicId: "x".repeat(256) }],
  ["mode", { mode: "fast" }],
  ["createStream", { createStream: "yes" }],
  ["createTopic", { createTopic: true }],
  ["createTopic.partitionCount", { createTopic: { partitionCount: 1001 } }],
  ["segment_size", { createTopic: { segmentSize: "many" } }],
  ["partition.kind", { partitioning: { kind: "random" } }],
  ["partition.partitionId", { partitioning: { kind: "partition_id", partitionId: 1.5 } }],
  ["partitioner", { partitioner: 5 }],
  ["encryptor", { encryptor: { encrypt: () => 1 } }],
  ["tracing", { tracing: {} }],
  ["payload", { payload: { encode: () => "" } }],
  ["batchLength", { batchLength: -1 }],
  ["batchLength", { batchLength: 1_000_001 }],
  ["batchLength", { batchLength: "1000" }],
  ["linger", { linger: -1 }],
  ["linger", { linger: "soon" }],
  ["linger", { linger: 2 ** 31 }],
  ["timeout", { timeout: -1 }],
  ["init.retries", { init: { retries: -1 } }],
  ["init.interval", { init: { interval: "x" } }],
  ["idempotent", { idempotent: "yes" }],
  ["idempotent.id", { idempotent: { id: 2n ** 63n } }],
  ["idempotent.id", { idempotent: { id: -1n } }],
  ["idempotent.id", { idempotent: { id: 2 ** 53 } }],
  ["idempotent.epoch", { idempotent: { id: 1n, epoch: 32_768 } }],
  ["idempotent.epoch", { idempotent: { epoch: 1 } }],
  ["idempotent.save", { idempotent: { save: 1 } }],
  ["idempotent.load", { idempotent: { load: "x" } }],
  ["numShards", { ...background, numShards: 0 }],
  ["sharding", { ...background, sharding: "random" }],
  ["batchSize", { ...background, batchSize: -1 }],
  ["maxBufferSize", { ...background, maxBufferSize: 1.5 }],
  ["maxInFlight", { ...background, maxInFlight: -1 }],
  ["onFull", { ...background, onFull: "drop" }],
  ["onFull.timeout", { ...background, onFull: { timeout: -5 } }],
  ["onError", { ...background, onError: "log" }],
  ["batchSize", { batchSize: 100 }],
  ["onError", { onError: () => undefined }],
  ["lingerMs", { lingerMs: 5 }],
])("%s is refused (case %#)", (name, options) => {
  const given = { streamId: "s", topicId: "t", ...options } as ProducerOptions;
  expect(() => client.producer(given)).toThrow(name);
  expect(node.of(getStream)).toHaveLength(0);
});

test.each<Record<string, unknown>>([
  { ...background, numShards: 4, sharding: "partition", batchSize: 0, batchLength: 0, linger: 0 },
  { ...background, maxBufferSize: 0, maxInFlight: 0, onFull: { timeout: "5s" } },
  { linger: "50ms", timeout: Infinity, init: { retries: Infinity, interval: "1s" }, batchLength: 0 },
  { createTopic: false, createStream: false, encryptor: false },
  { idempotent: { id: 0, epoch: 32_767 } },
])("good options are taken (case %#)", (options) => {
  expect(() => client.producer({ streamId: 0, topicId: "t", ...options })).not.toThrow();
});
