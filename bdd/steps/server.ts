import { After, Given, When, Then } from "@cucumber/cucumber";
import { Client } from "@iggy/sdk";
import { startServer } from "@iggy/server";
import { equal } from "node:assert/strict";
import { availableParallelism } from "node:os";
import { type IggyWorld, made } from "./iggy-world.js";

const ROOT = { username: "iggy", password: "iggy" };

/** Shards of the server, as far as this machine has the cores. */
const shards = Math.min(Number(process.env["IGGY_TEST_SHARDS"] ?? 1), availableParallelism());
const config = shards > 1 ? { "sharding.cpu_allocation": shards } : {};

Given("a running server", async function (this: IggyWorld) {
  this.server = await startServer({ config });
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
