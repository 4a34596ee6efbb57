import { expect, it } from "vitest";
import { removePartition, storedPartitions } from "../../src/index.js";
import { DATA, ID, memoryDisk, seeded, TestPartition } from "../partition-harness.js";

/** Each step of each removal takes its own time, so that they meet in every order. */
it("partitions of one topic that are removed at the same time hold each other up nowhere", async () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = seeded(seed);
    let isSlow = false;
    const latency = async (): Promise<void> => {
      if (!isSlow) return;
      for (let turns = Math.floor(random() * 12); turns > 0; turns--) await Promise.resolve();
    };
    const io = await memoryDisk({ latency });
    await (await TestPartition.open(io)).store.close();
    const neighbours = [4, 5, 6].map((partitionId) => ({ ...ID, partitionId }));
    for (const { partitionId } of neighbours) {
      const directory = `${DATA}/streams/1/topics/2/partitions/${partitionId}`;
      await io.makeDirectory(directory);
      io.setContents(`${directory}/created.revision`, new Uint8Array(3));
    }
    isSlow = true;
    await Promise.all([ID, ...neighbours].map((id) => removePartition(io, DATA, id)));
    expect(await storedPartitions(io, DATA)).toEqual([]);
    expect(await io.list(`${DATA}/streams`)).toEqual([]);
  }
});
