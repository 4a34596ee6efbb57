import { After, Given, When, Then } from "@cucumber/cucumber";
import { Client } from "@iggy/sdk";
import { startServer } from "@iggy/server";
import { equal } from "node:assert/strict";
import { type IggyWorld, made } from "./iggy-world.js";

const ROOT = { username: "iggy", password: "iggy" };

Given("a running server", async function (this: IggyWorld) {
  this.server = await startServer();
});

Given("a client that is signed in as root", signIn);
When("a client for the server signs in as root", signIn);

async function signIn(this: IggyWorld): Promise<void> {
  const { host, port } = made("a server", this.server);
  this.client = new Client({ transport: "TCP", options: { host, port } });
  await this.client.session.login(ROOT);
}

Then("the client is connected to the server", function (this: IggyWorld) {
  const { host, port } = made("a server", this.server);
  equal(made("a client", this.client).getConnectionInfo().serverAddress, `${host}:${port}`);
});

After(async function (this: IggyWorld) {
  try {
    await this.client?.close();
  } finally {
    await this.server?.close();
  }
});
