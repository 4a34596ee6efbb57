import { createStream, deleteStream, ErrorCode, sendMessages } from "@iggy/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClientCore } from "../src/client/client.js";
import { LaneBlockedError, OperationUncertainError, TimeoutError, ValidationError } from "../src/index.js";
import { MemoryNetwork } from "./support/memory-network.js";
import { type Received, ScriptedNode } from "./support/scripted-node.js";

let node: ScriptedNode;
let network: MemoryNetwork;
let client: ClientCore;
let held: Received[];
/** The answers to sends are held back. */
let isHolding: boolean;

beforeEach(() => {
  held = [];
  isHolding = true;
  node = new ScriptedNode((received) => {
    if (received.code === sendMessages.code && isHolding) held.push(received);
    else node.answer(received);
  });
  network = new MemoryNetwork(node);
});
afterEach(() => client.destroy());

const send = (partitionId: number, options: { readonly timeout?: number; readonly size?: number } = {}) =>
  client.message.send(
    {
      streamId: 1,
      topicId: 1,
      partition: { kind: "partition_id", partitionId },
      messages: [{ payload: new Uint8Array(options.size ?? 1) }],
    },
    options.timeout === undefined ? {} : { timeout: options.timeout },
  );

function answerHeld(): void {
  isHolding = false;
  for (const received of held.splice(0)) node.answer(received);
}

describe("the budget of writes under way", () => {
  test("by number: who finds no room waits for it, within its time", async () => {
    client = network.client({ pendingOperations: { maxOperations: 2 } });
    const first = [send(0), send(1)];
    await node.until(sendMessages, 2);
    const error = await send(2, { timeout: 50 }).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: ErrorCode.TransientNotAccepted });
    const third = send(2);
    answerHeld();
    await expect(Promise.all([...first, third])).resolves.toHaveLength(3);
    expect(node.of(sendMessages)).toHaveLength(3);
  });

  test("by bytes: frames under way hold their size", async () => {
    client = network.client({ pendingOperations: { maxBytes: 5000 } });
    const first = send(0, { size: 3000 });
    await node.until(sendMessages, 1);
    await expect(send(1, { size: 3000, timeout: 50 })).rejects.toBeInstanceOf(TimeoutError);
    const small = send(1, { size: 100 });
    await node.until(sendMessages, 2);
    answerHeld();
    await expect(Promise.all([first, small])).resolves.toHaveLength(2);
  });

  test("a frame above all of it is refused at once", async () => {
    client = network.client({ pendingOperations: { maxBytes: 5000 } });
    const error = await send(0, { size: 6000 }).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({ code: ErrorCode.InvalidSizeBytes });
    expect(node.of(sendMessages)).toEqual([]);
  });

  test("reads need none", async () => {
    client = network.client({ pendingOperations: { maxOperations: 1 } });
    const write = send(0);
    await node.until(sendMessages, 1);
    await expect(client.stream.list()).resolves.toEqual([]);
    answerHeld();
    await write;
  });

  test("a retained write holds its share until its outcome is known", async () => {
    client = network.client({ pendingOperations: { maxOperations: 1 }, autoResolve: false });
    const error = await send(0, { timeout: 50 }).catch((failure: unknown) => failure);
    if (!(error instanceof OperationUncertainError)) throw new Error("expected an uncertain send");
    isHolding = false;
    await expect(send(1, { timeout: 50 })).rejects.toBeInstanceOf(TimeoutError);
    await client.operation.resolve({ operationId: error.operationId });
    await expect(send(1)).resolves.toBeDefined();
  });
});

describe("a retained write", () => {
  async function retained(): Promise<bigint> {
    const error = await send(0, { timeout: 50 }).catch((failure: unknown) => failure);
    if (!(error instanceof OperationUncertainError)) throw new Error("expected an uncertain send");
    return error.operationId;
  }

  test("is announced and listed with what it was about", async () => {
    client = network.client();
    const told: bigint[] = [];
    client.on("operation-retained", ({ operationId }) => told.push(operationId));
    const operationId = await retained();
    expect(told).toEqual([operationId]);
    expect(client.operation.list()).toMatchObject([
      { operationId, code: sendMessages.code, streamId: 1, topicId: 1, partitionId: 0 },
    ]);
  });

  test("blocks its partition, no other one, and no metadata", async () => {
    client = network.client();
    const operationId = await retained();
    isHolding = false;
    await expect(send(0)).rejects.toMatchObject({ name: "LaneBlockedError", operationId });
    await expect(send(1)).resolves.toBeDefined();
    await expect(client.stream.delete({ streamId: 1 })).resolves.toBe(true);
    expect(node.of(deleteStream)).toHaveLength(1);
  });

  test("a replay that got a final answer gives it, now and when it is asked again", async () => {
    client = network.client();
    const operationId = await retained();
    node.handler = (received) => node.refuse(received, ErrorCode.RequestAlreadyApplied);
    for (let i = 0; i < 2; i++) {
      await expect(client.operation.resolve({ operationId })).rejects.toMatchObject({
        code: ErrorCode.RequestAlreadyApplied,
      });
    }
  });

  test("stays retained when the replay is not answered in its time", async () => {
    client = network.client();
    const operationId = await retained();
    const resolving = client.operation.resolve({ operationId, timeout: 50 });
    await expect(resolving).rejects.toMatchObject({ name: "OperationUncertainError", operationId });
    expect(client.operation.list()).toHaveLength(1);
  });

  test("a replay ends with its client", async () => {
    client = network.client();
    const operationId = await retained();
    const resolving = client.operation.resolve({ operationId });
    const ended = expect(resolving).rejects.toMatchObject({ name: "ClientShutdownError" });
    await node.until(sendMessages, 2);
    await client.close();
    await ended;
  });

  test("a replay can be given up", async () => {
    client = network.client();
    const operationId = await retained();
    const abort = new AbortController();
    const resolving = client.operation.resolve({ operationId }, { signal: abort.signal });
    await node.until(sendMessages, 2);
    abort.abort(new Error("enough"));
    await expect(resolving).rejects.toThrow("enough");
    await expect(send(0)).rejects.toBeInstanceOf(LaneBlockedError);
  });
});

test("a creation whose race is lost gives what the other one made", async () => {
  client = network.client();
  let exists = false;
  node.handler = (received) => {
    if (received.code === createStream.code) {
      exists = true;
      node.reject(received, ErrorCode.StreamNameAlreadyExists, { committed: true });
    } else if (received.code === 200 && exists) {
      node.reply(received, Uint8Array.from([...new Uint8Array(32), 1, 115, ...new Uint8Array(8)]));
    } else node.answer(received);
  };
  await expect(client.stream.ensure({ name: "s" })).resolves.toMatchObject({ name: "s" });
  expect(node.of(createStream)).toHaveLength(1);
});
