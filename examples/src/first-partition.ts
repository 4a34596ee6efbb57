import { type Client, Consumer, type CreateMessage, type Message, Partitioning, PollingStrategy } from "@iggy/sdk";

/** The only partition of the topics of these examples. */
const PARTITION_ID = 0;
/** A topic that brings nothing for this long is at its end. */
const QUIET_MS = 500;

/** Makes the stream and the topic when they are missing, and sends the messages as one batch. */
export async function sendAll(client: Client, stream: string, topic: string, messages: CreateMessage[]): Promise<void> {
  await client.stream.ensure(stream);
  await client.topic.ensure(stream, topic);
  const partition = Partitioning.PartitionId(PARTITION_ID);
  await client.message.send({ streamId: stream, topicId: topic, partition, messages });
}

/** The messages of the topic from the first one on, until no more come. */
export async function* readAll(client: Client, stream: string, topic: string): AsyncGenerator<Message> {
  let position = PollingStrategy.First;
  for (;;) {
    const polled = await client.message.poll({
      streamId: stream,
      topicId: topic,
      partitionId: PARTITION_ID,
      consumer: Consumer.Single,
      pollingStrategy: position,
      options: { maxWait: QUIET_MS },
    });
    if (polled.messages.length === 0) return;
    yield* polled.messages;
    position = polled.continuation;
  }
}
