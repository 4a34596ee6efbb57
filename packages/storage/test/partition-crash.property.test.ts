import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MemoryIo } from "../src/index.js";
import { memoryDisk, PROPERTY_RUNS, seeded, type Settings, TestPartition } from "./partition-harness.js";
import { expectPromisesKept, perform, Promises, type Run, run } from "./partition-model.js";

async function live(io: MemoryIo, settings: Settings, promises: Promises, { commands }: Run): Promise<void> {
  let partition = await TestPartition.open(io, settings);
  const track = (): void => {
    promises.acknowledge(partition.journaledOp);
    for (const { fromOp } of partition.rejections.splice(0)) promises.refuse(fromOp);
  };
  for (const one of commands) {
    if (one.do === "reopen") {
      await partition.settled(partition.op);
      track();
      io.capacityBytes = Infinity;
      await partition.store.close();
      if (partition.failures.length === 0) promises.durableOp = promises.acknowledgedOp;
      partition = await TestPartition.open(io, settings);
    } else await perform(io, partition, promises, one);
    track();
    if (io.halted) break;
  }
  await partition.settled(partition.op);
  track();
}

describe("whatever happens to a partition and wherever it stops", () => {
  for (const persisted of [false, true]) {
    it(`it comes back as a prefix with everything it promised (${persisted ? "persisted" : "replicated"})`, async () => {
      const settings: Settings = {
        persisted,
        segmentSizeBytes: 3000,
        offsetReservationLease: 7,
        residentBytesMax: 4000,
      };
      await fc.assert(
        fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), fc.integer(), async (runs, seed) => {
          let io = await memoryDisk({ random: seeded(seed) });
          const promises = new Promises();
          for (const one of runs) {
            io.haltAt(one.haltAt);
            try {
              await live(io, settings, promises, one);
            } catch (error) {
              if (!io.halted) throw error;
            }
            const keptOp = one.end === "kill" ? promises.acknowledgedOp : promises.durableOp;
            io.capacityBytes = Infinity;
            io = one.end === "kill" ? io.kill() : io.losePower();
            const partition = await TestPartition.open(io, settings);
            await expectPromisesKept(partition, promises, keptOp);
            promises.restart(partition.op);
            const first = partition.nextOffset;
            const op = await partition.send(["after the restart"]);
            promises.queue(op, first, ["after the restart"], false);
            promises.acknowledge(op);
            expect((await partition.messages(first))[0]?.text).toBe("after the restart");
            io = io.kill();
          }
        }),
        { numRuns: PROPERTY_RUNS },
      );
    }, 120_000);
  }
});
