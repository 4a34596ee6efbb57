import { type Client, connect, Partitioning } from "@iggy/sdk";
import { setTimeout as sleep } from "node:timers/promises";
import { rootUrl } from "../server-address.js";

const STREAM = "sample-stream";
const TOPIC = "sample-topic";
const PARTITION_ID = 0;
const BATCHES = 5;
const MESSAGES_PER_BATCH = 10;
const PAUSE_MS = 500;

await using client = await connect(rootUrl);
await createStreamAndTopic(client);
for (let batch = 0; batch < BATCHES; batch++) {
  if (batch > 0) await sleep(PAUSE_MS);
  await sendBatch(client, batch);
}

async function createStreamAndTopic(client: Client): Promise<void> {
  const stream = await client.stream.ensure(STREAM);
  const topic = await client.topic.ensure(STREAM, TOPIC);
  console.log(`Stream ${stream.name} (id ${stream.id}) with topic ${topic.name} (id ${topic.id}) is there.`);
}

async function sendBatch(client: Client, batch: number): Promise<void> {
  const first = batch * MESSAGES_PER_BATCH + 1;
  const messages = Array.from({ length: MESSAGES_PER_BATCH }, (_, index) => ({ payload: `message-${first + index}` }));
  const { confirmations } = await client.message.send({
    streamId: STREAM,
    topicId: TOPIC,
    partition: Partitioning.PartitionId(PARTITION_ID),
    messages,
  });
  const offset = String(confirmations[0]?.baseOffset);
  console.log(`Sent message-${first} to message-${first + MESSAGES_PER_BATCH - 1}, from offset ${offset} on.`);
}
