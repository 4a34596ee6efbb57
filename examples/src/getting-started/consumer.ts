import { connect, Consumer, type Message, PollingStrategy } from "@iggy/sdk";
import { rootUrl } from "../server-address.js";

const STREAM = "sample-stream";
const TOPIC = "sample-topic";
const PARTITION_ID = 0;
const BATCHES = 5;
const MESSAGES_PER_BATCH = 10;
/** How long the server waits for messages before it answers with none. */
const MAX_WAIT_MS = 500;

await using client = await connect(rootUrl);
let position = PollingStrategy.Offset(0);
let consumedBatches = 0;
while (consumedBatches < BATCHES) {
  const polled = await client.message.poll({
    streamId: STREAM,
    topicId: TOPIC,
    partitionId: PARTITION_ID,
    consumer: Consumer.Single,
    pollingStrategy: position,
    options: { count: MESSAGES_PER_BATCH, maxWait: MAX_WAIT_MS },
  });
  if (polled.messages.length === 0) {
    console.log("No messages yet, waiting for the producer.");
    continue;
  }
  polled.messages.forEach(handle);
  position = polled.continuation;
  consumedBatches += 1;
}

function handle(message: Message): void {
  console.log(`Offset ${String(message.headers.offset)}: ${message.text()}`);
}
