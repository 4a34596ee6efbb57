import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { type Completion, Ring, RingError, RingListener, Slab } from "../../src/index.js";
import { connect, echo, readAll, serve } from "../support/sink.js";
import { openUring, withRing } from "../support/uring.js";

// Some of them start whole programs.
vi.setConfig({ testTimeout: 90_000 });

class Results implements Completion {
  readonly results: number[] = [];
  completed(result: number): void {
    this.results.push(result);
  }
}

withRing("a ring", (addon) => {
  test("closes with operations under way: each completes as canceled, and nothing is called afterwards", async () => {
    const uring = openUring(addon);
    const owner = new Results();
    const listener = addon.socketListen("127.0.0.1", 0, 10, false);
    const client = await connect(addon.socketAddress(listener, false).port);
    const block = uring.blocks.allocate(4096);
    const accepted = new Promise<number>((resolve) => {
      uring.ring.acceptAll(listener, 0, { completed: (result) => resolve(result) }, 0);
    });
    const descriptor = await accepted;
    for (let at = 0; at < 50; at++) uring.ring.receive(descriptor, block?.offset ?? 0, 4096, false, true, owner, at);
    await delay(10);
    expect(uring.ring.inFlight).toBe(51);
    await uring.ring.close();
    expect(owner.results.length).toBe(50);
    expect(owner.results.every((result) => result < 0)).toBe(true);
    expect(() => uring.ring.receive(descriptor, 0, 1, false, true, owner, 0)).toThrow(RingError);
    client.write("late");
    await delay(20);
    expect(owner.results.length).toBe(50);
    for (const open of [descriptor, listener]) addon.socketClose(open);
    client.destroy();
    block?.release();
    uring.blocks.close();
  });

  test("destroyed at once completes what was under way before it returns", async () => {
    const uring = openUring(addon);
    const owner = new Results();
    const listener = addon.socketListen("127.0.0.1", 0, 10, false);
    uring.ring.acceptAll(listener, 0, owner, 0);
    await delay(5);
    uring.ring.acceptAll(listener, 0, owner, 0);
    uring.ring.destroy();
    expect(owner.results).toEqual([-125, -125]);
    uring.ring.destroy();
    addon.socketClose(listener);
    uring.blocks.close();
    await delay(5);
  });

  test("may be destroyed by one of its own callbacks", async () => {
    const uring = openUring(addon);
    const listener = serve(uring, () => uring.ring.destroy());
    const client = net.connect(listener.port, "127.0.0.1");
    client.on("error", () => undefined);
    await new Promise((resolve) => client.once("close", resolve));
    expect(uring.ring.isOpen).toBe(false);
    await listener.close();
    uring.blocks.close();
  });

  test("opens and closes many times without losing descriptors", async () => {
    const before = fs.readdirSync("/proc/self/fd").length;
    for (let round = 0; round < 50; round++) {
      const uring = openUring(addon, { entries: 8 });
      await uring.close();
    }
    await delay(10);
    expect(fs.readdirSync("/proc/self/fd").length).toBeLessThanOrEqual(before + 1);
  });

  test("keeps the order of operations that find no room in its queue, and refuses those above its limit", async () => {
    const uring = openUring(addon, { entries: 8, operationsMax: 2000 });
    const path = join(tmpdir(), `iggy-uring-${process.pid}`);
    const descriptor = fs.openSync(path, "w+");
    const blocks = Array.from({ length: 2000 }, () => uring.blocks.allocate(64));
    const owner = new Results();
    for (const [at, block] of blocks.entries()) {
      block?.bytes.fill(at % 256);
      uring.ring.write(descriptor, block?.offset ?? 0, 64, at * 64, owner, at);
    }
    expect(() => uring.ring.poll(descriptor, 1, owner, 0)).toThrow(expect.objectContaining({ code: "ERR_RING_FULL" }));
    while (uring.ring.inFlight > 0) await delay(1);
    expect(owner.results).toEqual(Array(2000).fill(64));
    const written = fs.readFileSync(path);
    for (let at = 0; at < 2000; at++) expect(written[at * 64]).toBe(at % 256);
    fs.closeSync(descriptor);
    fs.rmSync(path);
    for (const block of blocks) block?.release();
    await uring.close();
  });

  test("takes more completions than its queue holds", async () => {
    const uring = openUring(addon, { entries: 8 });
    const owner = new Results();
    const listener = addon.socketListen("127.0.0.1", 0, 10, false);
    for (let at = 0; at < 1000; at++) uring.ring.poll(listener, 1, owner, at);
    await delay(5);
    expect(owner.results.length).toBe(0);
    const client = await connect(addon.socketAddress(listener, false).port);
    while (owner.results.length < 1000) await delay(1);
    client.destroy();
    addon.socketClose(listener);
    await uring.close();
  });

  test("reports an error thrown by a callback as uncaught, and goes on", async () => {
    const { code, output } = await runProgram("throwing-program.ts");
    expect(output).toBe("caught: from a callback\nstill working\n");
    expect(code).toBe(0);
  });

  test("lets the process end when nothing is under way, and keeps it alive while something is", async () => {
    const { code, output } = await runProgram("ending-program.ts");
    expect(output).toBe("listening\nechoed\nclosed\n");
    expect(code).toBe(0);
  });

  test("ends with the process, whatever is under way", async () => {
    const { code, output } = await runProgram("exiting-program.ts");
    expect(output).toBe("busy\n");
    expect(code).toBe(3);
  });

  test("leaves timers, promises and other handles their time, and uses none itself when idle", async () => {
    const uring = openUring(addon);
    const listener = serve(uring, echo);
    const before = process.cpuUsage();
    const startedAt = performance.now();
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    await delay(1000);
    clearInterval(timer);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000 / (performance.now() - startedAt)).toBeLessThan(0.3);
    // A busy machine makes timers late, but not by much more than any other.
    expect(ticks).toBeGreaterThan(30);
    await listener.close();
    await uring.close();
  });

  test("needs a mapped slab", async () => {
    const uring = openUring(addon);
    const slab = Slab.share({ bytes: 1024 * 1024 });
    expect(() => Ring.open({ addon, slab, blocks: uring.blocks })).toThrow(/mapped/);
    await uring.close();
  });

  test("closes a listener while connections come in", async () => {
    const uring = openUring(addon);
    for (let round = 0; round < 20; round++) {
      const accepted: number[] = [];
      const listener = RingListener.listen(uring.ring, {
        host: "127.0.0.1",
        port: 0,
        onAccept: (descriptor) => accepted.push(descriptor),
      });
      const clients = Array.from({ length: 5 }, () =>
        net.connect(listener.port, "127.0.0.1").on("error", () => undefined),
      );
      if (round % 2 === 0) await once(clients[0] ?? new net.Socket(), "connect");
      await listener.close();
      for (const client of clients) client.destroy();
      for (const descriptor of accepted) addon.socketClose(descriptor);
    }
    await uring.close();
  });

  test("closes a listener although it has no room for another operation", async () => {
    const uring = openUring(addon, { entries: 8, operationsMax: 4 });
    const options = { host: "127.0.0.1", port: 0, onAccept: () => undefined };
    const listeners = Array.from({ length: 4 }, () => RingListener.listen(uring.ring, options));
    await delay(5);
    await Promise.all(listeners.map((listener) => listener.close()));
    expect(uring.ring.inFlight).toBe(0);
    await uring.close();
  });

  test("serves beside node:net in one loop", async () => {
    const uring = openUring(addon);
    const listener = serve(uring, echo);
    const server = net.createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const ports = [listener.port, (server.address() as net.AddressInfo).port];
    const answers = await Promise.all(
      ports.map(async (port) => {
        const socket = await connect(port);
        const all = readAll(socket);
        socket.end(Buffer.alloc(300_000, 5));
        return (await all).length;
      }),
    );
    expect(answers).toEqual([300_000, 300_000]);
    server.close();
    await listener.close();
    await uring.close();
  });
});

async function runProgram(name: string): Promise<{ code: number | null; output: string }> {
  const program = spawn(process.execPath, ["--import", "tsx", new URL(name, import.meta.url).pathname], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  program.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(program, "close")) as [number | null];
  return { code, output: Buffer.concat(chunks).toString() };
}
