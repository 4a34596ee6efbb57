import { Given, Then, When } from "@cucumber/cucumber";
import { deepEqual, equal, ok } from "node:assert/strict";
import { type IggyWorld, made } from "./iggy-world.js";

Given("no streams", async function (this: IggyWorld) {
  deepEqual(await made("a client", this.client).stream.list(), []);
});

Given("the stream {string}", create);
When("I create the stream {string}", create);

async function create(this: IggyWorld, name: string): Promise<void> {
  this.stream = await made("a client", this.client).stream.create({ name });
}

When("I list the streams", async function (this: IggyWorld) {
  this.streams = await made("a client", this.client).stream.list();
});

When("I rename the stream to {string}", async function (this: IggyWorld, name: string) {
  await made("a client", this.client).stream.update({ streamId: made("a stream", this.stream).id, name });
});

When("I delete the stream by its id", async function (this: IggyWorld) {
  await made("a client", this.client).stream.delete({ streamId: made("a stream", this.stream).id });
});

When(
  "I create the topic {string} in stream {int} with {int} partitions",
  async function (this: IggyWorld, name: string, streamId: number, partitionCount: number) {
    this.topic = await made("a client", this.client).topic.create({ streamId, name, partitionCount });
  },
);

Then("the stream was created with the id {int}", function (this: IggyWorld, id: number) {
  equal(made("a stream", this.stream).id, id);
});

Then("the stream is named {string}", function (this: IggyWorld, name: string) {
  equal(made("a stream", this.stream).name, name);
});

Then("I can get the stream by its id as {string}", async function (this: IggyWorld, name: string) {
  const { id } = made("a stream", this.stream);
  const found = await made("a client", this.client).stream.get({ streamId: id });
  deepEqual([found?.id, found?.name], [id, name]);
});

Then("I cannot find the stream by its id", async function (this: IggyWorld) {
  const { id } = made("a stream", this.stream);
  equal(await made("a client", this.client).stream.get({ streamId: id }), null);
});

Then("the list contains the stream {string}", function (this: IggyWorld, name: string) {
  ok(made("a list of streams", this.streams).some((stream) => stream.name === name));
});

Then("the topic is named {string}", function (this: IggyWorld, name: string) {
  equal(made("a topic", this.topic).name, name);
});

Then("the topic has {int} partitions", function (this: IggyWorld, count: number) {
  equal(made("a topic", this.topic).partitionsCount, count);
});
