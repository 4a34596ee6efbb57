import { once } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { wake, Wakeup } from "../../src/index.js";
import { withAddon } from "../support/uring.js";
import { nextMessage, startWorker } from "../support/worker.js";

// Threads begin by loading TypeScript.
vi.setConfig({ testTimeout: 90_000 });

const WORKER = new URL("wakeup-worker.ts", import.meta.url);

withAddon("a wake-up", (addon) => {
  test("runs its listener in the event loop, once for any number of calls until then", async () => {
    let runs = 0;
    const wakeup = Wakeup.open(addon, () => runs++);
    for (let call = 0; call < 100; call++) expect(wake(addon, wakeup.id)).toBe(true);
    expect(runs).toBe(0);
    await vi.waitFor(() => expect(runs).toBe(1));
    wake(addon, wakeup.id);
    await vi.waitFor(() => expect(runs).toBe(2));
    wakeup.close();
  });

  test("that is closed hears nothing any more, also when it was woken right before", async () => {
    let runs = 0;
    const wakeup = Wakeup.open(addon, () => runs++);
    wake(addon, wakeup.id);
    wakeup.close();
    wakeup.close();
    expect(wake(addon, wakeup.id)).toBe(false);
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(runs).toBe(0);
    expect(() => addon.wakeupClose(wakeup.id)).toThrow(expect.objectContaining({ code: "ERR_WAKEUP_CLOSED" }));
  });

  test("may be closed by its own listener", async () => {
    const closed = new Promise<void>((resolve) => {
      const wakeup = Wakeup.open(addon, () => {
        wakeup.close();
        resolve();
      });
      wake(addon, wakeup.id);
    });
    await closed;
  });

  test("carries calls between threads that sleep, and belongs to its own alone", async () => {
    let echoes = 0;
    let heard: () => void = () => undefined;
    const own = Wakeup.open(addon, () => {
      echoes++;
      heard();
    });
    const worker = startWorker(WORKER, { answer: own.id });
    const theirs = await nextMessage<number>(worker);
    expect(() => addon.wakeupClose(theirs)).toThrow(expect.objectContaining({ code: "ERR_WAKEUP_CLOSED" }));
    for (let round = 1; round <= 1000; round++) {
      const answered = new Promise<void>((resolve) => (heard = resolve));
      wake(addon, theirs);
      await answered;
      expect(echoes).toBe(round);
    }
    worker.postMessage("stop");
    await once(worker, "exit");
    expect(wake(addon, theirs)).toBe(false);
    own.close();
  });

  test("ends with a thread that is stopped while others wake it", async () => {
    for (let round = 0; round < 3; round++) {
      let answers = 0;
      const own = Wakeup.open(addon, () => answers++);
      const worker = startWorker(WORKER, { answer: own.id });
      const theirs = await nextMessage<number>(worker);
      wake(addon, theirs);
      await vi.waitFor(() => expect(answers).toBeGreaterThan(0));
      const terminated = worker.terminate();
      while (wake(addon, theirs)) await turn();
      await terminated;
      own.close();
    }
  });
});
