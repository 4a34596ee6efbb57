import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MemoryIo } from "../src/index.js";
import { memoryDisk, PROPERTY_RUNS, seeded, SPEEDS, type Settings, TestPartition } from "./partition-harness.js";
import { TestPool } from "./pooled-memory.js";
import { expectPromisesKept, perform, Promises, type Run, run } from "./partition-model.js";

async function live(
  io: MemoryIo,
  settings: Settings,
  promises: Promises,
  { commands }: Run,
  pool: TestPool,
  process: { partition?: TestPartition },
): Promise<void> {
  let partition = await TestPartition.open(io, settings, pool);
  process.partition = partition;
  const track = (): void => {
    promises.acknowledge(partition.journaledOp);
    for (const { fromOp } of partition.rejections.splice(0)) promises.refuse(fromOp);
  };
  for (const one of commands) {
    if (one.do === "reopen") {
      await partition.settled(partition.op);
      track();
      io.capacityBytes = Infinity;
      partition.expectNoLeak();
      await partition.store.close();
      if (partition.failures.length === 0) promises.durableOp = promises.acknowledgedOp;
      expect(pool.heldBytes).toBe(0);
      partition = await TestPartition.open(io, settings, pool);
      process.partition = partition;
    } else await perform(io, partition, promises, one);
    track();
    if (io.halted) break;
  }
  await partition.settled(partition.op);
  track();
  if (!io.halted) partition.expectNoLeak();
}

/** The disk of a process that ended takes nothing more; what the process held in memory goes with it. */
async function expectNothingHeld(partition: TestPartition | undefined, pool: TestPool): Promise<void> {
  partition?.useUp(0);
  await partition?.store.close().catch(() => undefined);
  expect(pool.heldBytes).toBe(0);
}

describe("whatever happens to a partition and wherever it stops", () => {
  for (const [speed, options] of Object.entries(SPEEDS)) {
    for (const persisted of [false, true]) {
      const what = `${persisted ? "persisted" : "replicated"}, ${speed}`;
      it(`it comes back as a prefix with everything it promised, and leaks nothing (${what})`, async () => {
        const settings: Settings = {
          persisted,
          segmentSizeBytes: 3000,
          offsetReservationLease: 7,
          residentBytesMax: 9000,
        };
        await fc.assert(
          fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), fc.integer(), async (runs, seed) => {
            const random = seeded(seed);
            let io = await memoryDisk({ random, ...options(random) });
            const pool = new TestPool(2048, () => random() < 0.2);
            const promises = new Promises();
            for (const one of runs) {
              io.haltAt(one.haltAt);
              const process: { partition?: TestPartition } = {};
              try {
                await live(io, settings, promises, one, pool, process);
              } catch (error) {
                if (!io.halted || !(error instanceof Error) || error.name === "AssertionError") throw error;
              }
              const keptOp = one.end === "kill" ? promises.acknowledgedOp : promises.durableOp;
              io.capacityBytes = Infinity;
              io = one.end === "kill" ? io.kill() : io.losePower();
              await expectNothingHeld(process.partition, pool);
              const partition = await TestPartition.open(io, settings, pool);
              await expectPromisesKept(partition, promises, keptOp);
              promises.restart(partition.op);
              const first = partition.nextOffset;
              const op = await partition.send(["after the restart"]);
              promises.queue(op, first, ["after the restart"], false);
              promises.acknowledge(op);
              expect((await partition.messages(first))[0]?.text).toBe("after the restart");
              partition.expectNoLeak();
              io = io.kill();
              await expectNothingHeld(partition, pool);
            }
          }),
          { numRuns: PROPERTY_RUNS },
        );
      }, 120_000);
    }
  }
});
