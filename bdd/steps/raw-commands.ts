import { Then, When } from "@cucumber/cucumber";
import { IggyError } from "@iggy/sdk";
import { equal, ok } from "node:assert/strict";
import { type IggyWorld, made } from "./iggy-world.js";

const INVALID_COMMAND = 3;

When("I send the command {int} with an empty payload", async function (this: IggyWorld, code: number) {
  const client = made("a client", this.client);
  this.raw = await client.sendBinaryRequest(code, new Uint8Array()).catch((error: unknown) => {
    if (error instanceof IggyError) return error;
    throw error;
  });
});

Then("the command succeeds", function (this: IggyWorld) {
  ok(this.raw instanceof Uint8Array, String(this.raw));
});

Then("its response is empty", function (this: IggyWorld) {
  ok(this.raw instanceof Uint8Array);
  equal(this.raw.length, 0);
});

Then("its response is not empty", function (this: IggyWorld) {
  ok(this.raw instanceof Uint8Array);
  ok(this.raw.length > 0);
});

Then("the command fails as an invalid command", function (this: IggyWorld) {
  ok(this.raw instanceof IggyError, "the command succeeded");
  equal(this.raw.code, INVALID_COMMAND);
});
