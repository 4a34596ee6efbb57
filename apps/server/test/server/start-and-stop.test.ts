import { once } from "node:events";
import { connect, createServer } from "node:net";
import { describe, expect, it, vi } from "vitest";
import * as system from "../../src/system/index.js";
import { MemoryMachine } from "./memory-machine.js";
import { first, freshPartition, messages, RawSession, textOf } from "../raw-client/index.js";

vi.mock(import("../../src/system/index.js"), async (original) => {
  const real = await original();
  return { ...real, writeCurrentConfig: vi.fn(real.writeCurrentConfig) };
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => socket.destroy());
    socket.once("error", () => resolve(false));
    socket.once("close", (hadError) => resolve(!hadError));
  });

describe("a start that fails", () => {
  it("behind the opening of the listener leaves nothing running and the directory free", async () => {
    await using machine = await MemoryMachine.create();
    const port = await freePort();
    const config = { "tcp.address": `127.0.0.1:${port}` };
    vi.mocked(system.writeCurrentConfig).mockRejectedValueOnce(new Error("ENOSPC: no space left on device"));
    await expect(machine.start(config)).rejects.toThrow("ENOSPC");
    expect(await accepts(port)).toBe(false);
    const server = await machine.start(config);
    expect(await accepts(port)).toBe(true);
    await server.stop();
  });
});

describe("a stop that can't write everything", () => {
  it("says so, and still ends everything else: other partitions, metadata, connections, the directory", async () => {
    await using machine = await MemoryMachine.create();
    const { disk } = machine;
    const server = await machine.start();
    const session = await RawSession.open(server.port);
    const [lost, kept] = [await freshPartition(session), await freshPartition(session)];
    await lost.send(messages(1));
    await kept.send(messages(2));
    const heal = disk.fail({ operation: "sync", path: (path) => path.includes("/streams/0/"), code: "EIO" });
    await expect(server.stop()).rejects.toThrow("1 partitions were not closed cleanly");
    heal();
    await session.link.closed;
    expect(await accepts(server.port)).toBe(false);

    const again = await machine.start();
    const other = await RawSession.open(again.port);
    const { messages: found } = await kept.by(other).poll(first, { count: 10 });
    expect(found.map(textOf)).toEqual(["message 0", "message 1"]);
    await other.close();
    await again.stop();
  });

  it("for want of room says so of metadata too, and the next start replays them", async () => {
    await using machine = await MemoryMachine.create();
    const { disk } = machine;
    const server = await machine.start();
    const session = await RawSession.open(server.port);
    const partition = await freshPartition(session);
    disk.capacityBytes = 0;
    const failure: unknown = await server.stop().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AggregateError);
    expect(failure instanceof AggregateError && failure.errors.map(String)).toEqual([
      expect.stringContaining("1 partitions were not closed cleanly"),
      expect.stringContaining("ENOSPC"),
    ]);
    disk.capacityBytes = 1e9;
    const again = await machine.start();
    const other = await RawSession.open(again.port);
    expect(await partition.by(other).send(messages(1))).toBe(0);
    await other.close();
    await again.stop();
    expect(machine.fatal).toEqual([]);
  });
});
