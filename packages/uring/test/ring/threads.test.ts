import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { RingListener } from "../../src/index.js";
import { connect, readAll } from "../support/sink.js";
import { openUring, withRing } from "../support/uring.js";
import { nextMessage, startWorker } from "../support/worker.js";

// Threads begin by loading TypeScript.
vi.setConfig({ testTimeout: 90_000 });

const WORKER = new URL("serving-worker.ts", import.meta.url);

withRing("rings of several threads", (addon) => {
  test("serve connections that one of them accepted", async () => {
    const uring = openUring(addon);
    const workers = [1, 2].map((region) => startWorker(WORKER, { region }));
    let next = 0;
    const listener = RingListener.listen(uring.ring, {
      host: "127.0.0.1",
      port: 0,
      onAccept: (descriptor) => workers[next++ % 2]?.postMessage(descriptor),
    });
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const sent = randomBytes(50_000 * at + 1);
        const socket = await connect(listener.port);
        const all = readAll(socket);
        socket.end(sent);
        return (await all).equals(sent);
      }),
    );
    expect(answers).toEqual(Array(20).fill(true));
    await listener.close();
    for (const worker of workers) {
      const exited = once(worker, "exit");
      let message: unknown;
      do {
        const coming = nextMessage<unknown>(worker);
        if (message === undefined) worker.postMessage(-1);
        message = await coming;
      } while (message === "idle");
      expect(message).toEqual({ usedBytes: 0 });
      await exited;
    }
    await uring.close();
  });

  test("end with a thread that is stopped in the middle of its work", async () => {
    const uring = openUring(addon);
    for (let round = 0; round < 3; round++) {
      const worker = startWorker(WORKER, { region: 3 });
      const listener = RingListener.listen(uring.ring, {
        host: "127.0.0.1",
        port: 0,
        onAccept: (descriptor) => worker.postMessage(descriptor),
      });
      const socket = await connect(listener.port);
      socket.on("error", () => undefined);
      const flood = setInterval(() => socket.write(randomBytes(100_000)), 1);
      await once(socket, "data");
      await delay(10);
      await worker.terminate();
      clearInterval(flood);
      socket.destroy();
      await listener.close();
      uring.slab.control.disclaim(3);
    }
    await uring.close();
  });
});
