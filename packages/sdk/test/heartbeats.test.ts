import { bindSession, ping } from "@iggy/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ValidationError } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { ScriptedNode } from "./support/scripted-node.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test("pings right after connecting and then every interval, with a number of their own", async () => {
  const node = new ScriptedNode();
  const client = new MemoryNetwork(node).client({ heartbeatInterval: 5000 });
  const beats: number[] = [];
  client.on("heartbeat", ({ durationMs }) => beats.push(durationMs));
  await client.connect();
  await vi.advanceTimersByTimeAsync(0);
  expect(node.of(ping)).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(node.of(ping)).toHaveLength(4);
  expect(beats).toHaveLength(4);
  const pings = node.of(ping);
  expect(new Set(pings.map(({ request }) => request)).size).toBe(4);
  expect(pings.every(({ header }) => header.session === 4711 && header.minimumMetadataOp === 0)).toBe(true);
  await client.destroy();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(node.of(ping)).toHaveLength(4);
});

test("a ping without an answer ends the link, and the session moves to a new one", async () => {
  const node = new ScriptedNode();
  const network = new MemoryNetwork(node);
  const client = network.client({ heartbeatInterval: 5000 });
  await client.connect();
  await vi.advanceTimersByTimeAsync(0);
  let isSilent = true;
  node.handler = (received) => {
    if (received.code !== ping.code || !isSilent) node.answer(received);
  };
  await vi.advanceTimersByTimeAsync(5000);
  // One slow answer is waited for; no pings pile up behind it.
  await vi.advanceTimersByTimeAsync(29_000);
  expect(node.of(ping)).toHaveLength(2);
  expect(network.connections).toHaveLength(1);
  isSilent = false;
  await vi.advanceTimersByTimeAsync(2000);
  expect(network.connections).toHaveLength(2);
  expect(node.of(bindSession)).toHaveLength(1);
  await client.destroy();
});

test("nothing is sent without a session, and nothing with an interval of 0", async () => {
  const node = new ScriptedNode();
  const client = new MemoryNetwork(node).client({ heartbeatInterval: 1000 });
  await client.connect();
  await client.session.logout();
  const before = node.of(ping).length;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(node.of(ping)).toHaveLength(before);
  await client.destroy();

  const quiet = new MemoryNetwork(node).client({ heartbeatInterval: 0 });
  await quiet.connect();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(node.of(ping)).toHaveLength(before);
  await quiet.destroy();
});

test.each([-1, 1.5, Number.NaN, 2_147_483_648])("an interval of %d is refused", (heartbeatInterval) => {
  expect(() => new MemoryNetwork(new ScriptedNode()).client({ heartbeatInterval })).toThrow(ValidationError);
});
