import { describe, expect, it } from "vitest";
import { startThread } from "../../src/shards/thread.js";
import { logBudget } from "../../src/shards/thread-log.js";
import { superviseThread } from "../../src/shards/threads.js";

function supervised(end: string) {
  const worker = startThread(new URL("./failing-thread.ts", import.meta.url), {
    name: end,
    workerData: end,
    transferList: [],
  });
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<Error>((resolve) => (fail = resolve));
  const thread = superviseThread(4, worker, logBudget(), { log: () => undefined, failed: (error) => fail(error) });
  return { thread, failed };
}

describe("a shard that ends although nobody asked it to", () => {
  it.each([
    ["throws", "a fault of the shard"],
    ["rejects", "a fault of the shard"],
    ["exits", "status 3"],
  ])("is a failure of the node when it %s, with the reason", async (end, reason) => {
    const { thread, failed } = supervised(end);
    await thread.ready;
    const { message, cause } = await failed;
    expect(`${message} ${cause instanceof Error ? cause.message : ""}`).toContain(reason);
    expect(message).toContain("shard 4");
    expect((await thread.ended).message).toBe(message);
  });
});

describe("a shard that is asked to end", () => {
  it("is cut off when it does not in time, and that is no failure of the node", async () => {
    const { thread, failed } = supervised("stays");
    await thread.ready;
    expect(await thread.stop(200)).toBe(false);
    const silent = new Promise((resolve) => setTimeout(() => resolve("silent"), 100));
    expect(await Promise.race([failed, silent])).toBe("silent");
  });
});
