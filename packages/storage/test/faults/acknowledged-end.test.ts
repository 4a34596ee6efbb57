import { describe, expect, it } from "vitest";
import { PartitionFenced } from "../../src/index.js";
import { fileOf, filledPartition } from "./filled-partition.js";
import { diskOf, withFile } from "./picture.js";
import { TestPartition } from "../partition-harness.js";

/**
 * The process was killed and the machine ran on, so every byte that was written is there. A last operation that is present
 * in its full length and does not verify was damaged while it lay there, and was acknowledged as persisted.
 */
describe("damage to the very last operation of a persisted partition, on the same run of the machine", () => {
  for (const [what, file, fromEnd] of [
    ["its batch", "the newest segment", 20],
    ["its journal entry", "the newest journal file", 20],
  ] as const) {
    it.fails(`fences the partition when it is in ${what}, instead of dropping what was acknowledged`, async () => {
      const filled = await filledPartition({ persisted: true, by: "kill" });
      const path = fileOf(filled.picture, file);
      const bytes = Uint8Array.from(filled.picture.get(path) ?? []);
      const at = bytes.length - fromEnd;
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      const io = await diskOf(withFile(filled.picture, path, bytes), { boot: filled.boot });
      await expect(TestPartition.open(io, filled.settings)).rejects.toBeInstanceOf(PartitionFenced);
    });
  }
});
