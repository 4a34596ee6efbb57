import { describe, expect, it } from "vitest";
import { PartitionFenced } from "../../src/index.js";
import { type Filled, fileOf, filledPartition } from "./filled-partition.js";
import { diskOf, withFile } from "./picture.js";
import { TestPartition } from "../partition-harness.js";

/** Bytes of an entry of the journal that names a batch. */
const ENTRY_BYTES = 336;

/**
 * The process was killed and the machine ran on, so every byte that was written is there. A last operation that is present
 * in its full length and does not verify was damaged while it lay there, and was acknowledged.
 */
describe("damage to the very last operation of a partition, on the same run of the machine", () => {
  for (const persisted of [true, false]) {
    const promise = persisted ? "persisted" : "replicated";
    for (const [what, file, bytesFromEnd] of [
      ["its batch", "the newest segment", 20],
      ["its journal entry", "the newest journal file", ENTRY_BYTES],
    ] as const) {
      it(`fences a ${promise} one when it is in ${what}, whichever byte it is`, { timeout: 60_000 }, async () => {
        const filled = await filledPartition({ persisted, by: "kill" });
        const path = fileOf(filled.picture, file);
        const original = filled.picture.get(path) ?? new Uint8Array(0);
        for (let fromEnd = 1; fromEnd <= bytesFromEnd; fromEnd++) {
          const bytes = Uint8Array.from(original);
          const at = bytes.length - fromEnd;
          bytes[at] = (bytes[at] ?? 0) ^ (1 << (fromEnd % 8));
          await expect(reopen(filled, path, bytes), `byte ${at}`).rejects.toMatchObject({
            name: PartitionFenced.name,
            reason: "damaged-log",
          });
        }
      });
    }

    it(`still cuts a journal entry of a ${promise} one that broke off, at whichever byte`, async () => {
      const filled = await filledPartition({ persisted, by: "kill" });
      const path = fileOf(filled.picture, "the newest journal file");
      const original = filled.picture.get(path) ?? new Uint8Array(0);
      for (let missing = 1; missing < ENTRY_BYTES; missing += 7) {
        const { recovered } = await reopen(filled, path, original.slice(0, original.length - missing));
        expect(recovered.nextOffset).toBe(filled.texts.length - 2);
      }
    });
  }

  it("tells an operation with a body that broke off from one that is damaged", async () => {
    const filled = await filledPartition({ persisted: true, by: "kill" });
    const io = await diskOf(filled.picture, { boot: filled.boot });
    await (await TestPartition.open(io, filled.settings)).operate(new Uint8Array(500).fill(7), true);
    const path = fileOf(filled.picture, "the newest journal file");
    const bytes = io.contents(path) ?? new Uint8Array(0);
    for (const missing of [1, 100, 499]) {
      const { recovered } = await reopen(filled, path, bytes.slice(0, bytes.length - missing));
      expect(recovered.nextOffset).toBe(filled.texts.length);
    }
    const damaged = Uint8Array.from(bytes);
    damaged[bytes.length - 100] = 8;
    await expect(reopen(filled, path, damaged)).rejects.toBeInstanceOf(PartitionFenced);
  });
});

async function reopen(filled: Filled, path: string, bytes: Uint8Array): Promise<TestPartition> {
  const io = await diskOf(withFile(filled.picture, path, bytes), { boot: filled.boot });
  return TestPartition.open(io, filled.settings);
}
