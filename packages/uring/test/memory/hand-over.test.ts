import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Slab, SlabAllocator } from "../../src/index.js";
import { REGIONS, SLAB_BYTES, withAddon } from "../support/uring.js";
import { nextMessage, startWorker } from "../support/worker.js";
import { Lane } from "./lane.js";

const BLOCKS = 30_000;

describe("blocks of shared memory", () => {
  test(
    "go to other threads and come back whole",
    () => handOver(Slab.share({ bytes: 64 * 1024 * 1024, regions: REGIONS })),
    60_000,
  );
});

withAddon("blocks of mapped memory", (addon) => {
  test(
    "go to other threads and come back whole",
    () => handOver(Slab.map(addon, { bytes: SLAB_BYTES, regions: REGIONS })),
    60_000,
  );
});

/** One thread allocates, three release; every block is used by two of them at a time. */
async function handOver(slab: Slab): Promise<void> {
  const blocks = new SlabAllocator(slab, { region: 0, budgetBytes: 8 * 1024 * 1024 });
  const lanes = [1, 2, 3].map(() => Lane.create());
  const workers = lanes.map((lane, at) =>
    startWorker(new URL("hand-over-worker.ts", import.meta.url), { handle: slab.handle, lane, region: at + 1 }),
  );
  const results = workers.map((worker) => nextMessage<{ damaged: number; count: number }>(worker));
  const ends = workers.map((worker) => once(worker, "exit"));
  const outgoing = lanes.map((lane) => new Lane(lane));
  const put = async (to: number, offset: number): Promise<void> => {
    while (outgoing[to]?.put(offset) === false) await nextTurn();
  };
  for (let sent = 0; sent < BLOCKS;) {
    const block = blocks.allocate(1 + ((sent * 7919) % 40_000));
    if (block === undefined) {
      await nextTurn();
      continue;
    }
    const mark = 1 + (sent % 255);
    block.bytes[0] = mark;
    block.bytes[block.bytes.length - 1] = mark;
    block.retain();
    await put(sent % 3, block.offset);
    await put((sent + 1) % 3, block.offset);
    sent++;
  }
  for (const at of outgoing.keys()) await put(at, 0);
  const answers = await Promise.all(results);
  await Promise.all(ends);
  expect(answers.reduce((sum, { count }) => sum + count, 0)).toBe(BLOCKS * 2);
  expect(answers.every(({ damaged }) => damaged === 0)).toBe(true);
  expect(blocks.usedBytes).toBe(0);
  blocks.close();
}
