import { inspect } from "node:util";
import { expect, test } from "vitest";
import {
  Client,
  formatConnectionString,
  type IggyError,
  parseConnectionString,
  ValidationError,
} from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedNode } from "./support/scripted-node.js";

/*
 * Passwords with characters of the grammar have no connection string; they have the options object. No password shows up
 * anywhere that people look.
 */

const password = "p@s:s/w?o#r%40d";

test.each([
  [`iggy://user:${password}@localhost:8090`, "@"],
  [`iggy://user:${encodeURIComponent("a")}:b@localhost:8090`, ":"],
  ["iggy://user:pass/word@localhost:8090", "/"],
  ["iggy://user:pass?word@localhost:8090", "?"],
])("%# is refused, names the character and the way out, and keeps the password to itself", (text, character) => {
  let error: unknown;
  try {
    parseConnectionString(text);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ValidationError);
  const refusal = error as IggyError;
  expect(refusal.code).toBe(8000);
  expect(refusal.message).toContain(`"${character}"`);
  expect(refusal.message).toMatch(/apart/);
  for (const shown of [
    refusal.message,
    String(refusal.stack),
    JSON.stringify(refusal),
    inspect(refusal, { depth: 9 }),
  ]) {
    expect(shown).not.toContain("w?o#r");
    expect(shown).not.toContain("pass/");
    expect(shown).not.toContain("pass?");
  }
});

test("percent signs are taken as they stand", () => {
  expect(parseConnectionString("iggy://user:p%40ss@localhost:8090").credentials).toEqual({
    username: "user",
    password: "p%40ss",
  });
});

test("the options object takes any password", async () => {
  const node = new ScriptedNode();
  await using client = new MemoryNetwork(node).client({ credentials: { username: "user", password } });
  await client.connect();
  expect(new TextDecoder().decode(node.received[0]?.body)).toContain(password);
});

test("a client shows no secret, whatever is printed of it", async () => {
  const node = new ScriptedNode();
  const client = new MemoryNetwork(node).client({ credentials: { username: "user", password } });
  await client.connect();
  for (const shown of [inspect(client, { depth: 20, showHidden: true }), JSON.stringify(client)]) {
    expect(shown).not.toContain(password);
  }
  node.handler = ({ wire }) => node.evict(wire, "InvalidCredentials");
  const error = await client.session.login({ username: "user", password: `${password}2` }).catch((e: unknown) => e);
  for (const shown of [inspect(error, { depth: 20, showHidden: true }), JSON.stringify(error), String(error)]) {
    expect(shown).not.toContain(password);
  }
  await client.destroy();
});

test("a formatted string hides its credentials unless it is told otherwise", () => {
  const config = parseConnectionString(
    "iggy+tcp://user:secret@localhost:8091?heartbeat_interval=3s&reconnection_retries=7&nodelay=false",
  );
  expect(formatConnectionString(config)).toBe(
    "iggy+tcp://***:***@localhost:8091?heartbeat_interval=3000ms&reconnection_retries=7&nodelay=false",
  );
  const open = formatConnectionString(config, { redact: false });
  expect(parseConnectionString(open)).toEqual(config);
  expect(() => formatConnectionString({ credentials: { username: "user", password } }, { redact: false })).toThrow(
    /character of the grammar/,
  );
});

test("connection strings become configurations", () => {
  expect(
    parseConnectionString(
      "iggy://user:pass@[::1]:8090?tls=true&tls_domain=iggy.local&tls_ca_file=/ca.pem&reconnection_interval=2s&reestablish_after=1s&max_pending_operations=5&max_pending_operation_bytes=4096",
    ),
  ).toEqual({
    transport: "TLS",
    options: { host: "::1", port: 8090 },
    credentials: { username: "user", password: "pass" },
    reconnect: { interval: 2000, reestablishAfter: 1000 },
    pendingOperations: { maxOperations: 5, maxBytes: 4096 },
    tls: { servername: "iggy.local", caFile: "/ca.pem", rejectUnauthorized: true },
  });
  expect(parseConnectionString("iggy+ws://token-1@host:8092?tls=true")).toMatchObject({
    transport: "WSS",
    credentials: { token: "token-1" },
    tls: { rejectUnauthorized: false },
  });
  expect(() => parseConnectionString("iggy://user:pass@host:8090?reconnection_retries=x")).toThrow(
    expect.objectContaining({ code: 84 }),
  );
});

test.each([
  [{ options: { host: "bad host" } }, 35],
  [{ options: { host: "1.2.3" } }, 35],
  [{ options: { host: "256.1.1.1" } }, 35],
  [{ options: { port: 0 } }, 35],
  [{ options: { port: 65_536 } }, 35],
  [{ servers: ["nowhere"] }, 35],
  [{ servers: ["[::g]:1"] }, 35],
  [{ poolSize: { max: 2 } }, 2],
  [{ name: "" }, 2],
  [{ transport: "UDP" as "TCP" }, 2],
])("the configuration %j is refused", (config, code) => {
  expect(() => new Client(config)).toThrow(expect.objectContaining({ code }));
});
