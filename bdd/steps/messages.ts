import { Then, When } from "@cucumber/cucumber";
import { Consumer, Partitioning, PollingStrategy } from "@iggy/sdk";
import { deepEqual, equal } from "node:assert/strict";
import { type IggyWorld, made } from "./iggy-world.js";

When(
  "I send {int} messages to stream {int}, topic {int}, partition {int}",
  async function (this: IggyWorld, count: number, streamId: number, topicId: number, partitionId: number) {
    this.sent = Array.from({ length: count }, (_, index) => ({ id: index + 1, payload: `test message ${index}` }));
    const { confirmations } = await made("a client", this.client).message.send({
      streamId,
      topicId,
      partition: Partitioning.PartitionId(partitionId),
      messages: this.sent,
    });
    this.confirmations = confirmations.length;
  },
);

When(
  "I poll stream {int}, topic {int}, partition {int} from offset {int}",
  async function (this: IggyWorld, streamId: number, topicId: number, partitionId: number, offset: number) {
    this.polled = await made("a client", this.client).message.poll({
      streamId,
      topicId,
      partitionId,
      consumer: Consumer.Single,
      pollingStrategy: PollingStrategy.Offset(BigInt(offset)),
      options: { count: 100 },
    });
  },
);

Then("all messages were accepted", function (this: IggyWorld) {
  equal(this.confirmations, 1);
});

Then("I receive {int} messages", function (this: IggyWorld, count: number) {
  const { messages } = made("a poll", this.polled);
  equal(messages.length, count);
});

Then("their offsets are {int} to {int}", function (this: IggyWorld, first: number, last: number) {
  const offsets = made("a poll", this.polled).messages.map((message) => Number(message.headers.offset));
  deepEqual(
    offsets,
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
});

Then("each message has the id and the payload that was sent", function (this: IggyWorld) {
  const received = made("a poll", this.polled).messages.map((message) => [message.headers.id, message.text()]);
  deepEqual(
    received,
    this.sent.map(({ id, payload }) => [BigInt(id ?? 0), payload]),
  );
});

Then("the last polled message equals the last sent message", function (this: IggyWorld) {
  const last = made("a poll", this.polled).messages.at(-1);
  const sent = this.sent.at(-1);
  deepEqual([last?.headers.id, last?.text()], [BigInt(sent?.id ?? 0), sent?.payload]);
});
