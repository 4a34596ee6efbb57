import { CommitPolicy, connect, Consumer, PollingStrategy } from "@iggy/sdk";
import { basicArguments } from "./arguments.js";

const { url, stream, topic, partitionId, consumerId, messagesPerBatch, batches, intervalMs } = basicArguments();

await using client = await connect(url);
let consumedBatches = 0;
while (consumedBatches < batches) {
  // The server stores the offset as part of the read, so that the next run of this consumer goes on behind it.
  const { messages, currentOffset } = await client.message.poll({
    streamId: stream,
    topicId: topic,
    partitionId,
    consumer: Consumer.Named(consumerId),
    pollingStrategy: PollingStrategy.Next,
    options: { count: messagesPerBatch, maxWait: intervalMs, commit: CommitPolicy.OnRead },
  });
  const [first, last] = [messages[0], messages.at(-1)];
  if (first === undefined || last === undefined) {
    console.log("No messages, waiting for the producer.");
    continue;
  }
  consumedBatches += 1;
  const range = `${String(first.headers.offset)} to ${String(last.headers.offset)} of ${String(currentOffset)}`;
  console.log(`Consumed offsets ${range}, the first one is "${first.text().trimEnd()}".`);
}
