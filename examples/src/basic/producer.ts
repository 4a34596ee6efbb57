import { connect, Partitioning } from "@iggy/sdk";
import { setTimeout as sleep } from "node:timers/promises";
import { basicArguments } from "./arguments.js";

const { url, stream, topic, partitionId, messageBytes, messagesPerBatch, batches, intervalMs } = basicArguments();

await using client = await connect(url);
await client.stream.ensure(stream);
await client.topic.ensure(stream, topic, partitionId + 1);
for (let batch = 0; batch < batches; batch++) {
  if (batch > 0) await sleep(intervalMs);
  const messages = Array.from({ length: messagesPerBatch }, (_, index) => ({
    payload: `message ${batch * messagesPerBatch + index} `.padEnd(messageBytes, "."),
  }));
  await client.message.send({
    streamId: stream,
    topicId: topic,
    partition: Partitioning.PartitionId(partitionId),
    messages,
  });
  console.log(`Sent batch ${batch + 1} of ${batches}: ${messagesPerBatch} messages of ${messageBytes} bytes or more.`);
}
