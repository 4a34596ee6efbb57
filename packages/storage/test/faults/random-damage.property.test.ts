import fc from "fast-check";
import { expect, it } from "vitest";
import { PROPERTY_RUNS } from "../partition-harness.js";
import { damageKinds, damagesOf } from "./damage.js";
import { fileKinds, fileOf, type Filled, filledPartition } from "./filled-partition.js";
import { judge } from "./judge.js";
import { withFile } from "./picture.js";

const damage = fc.record({
  file: fc.constantFrom(...fileKinds),
  kind: fc.constantFrom(...damageKinds),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  seed: fc.nat({ max: 1_000_000 }),
});

it("a partition with several damaged files serves what was written, or nothing", { timeout: 180_000 }, async () => {
  const known = new Map<string, Promise<Filled>>();
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.constantFrom("close" as const, "kill" as const, "power" as const),
      fc.array(damage, { minLength: 1, maxLength: 4 }),
      async (persisted, by, damages) => {
        const key = `${persisted} ${by}`;
        const filling = known.get(key) ?? filledPartition({ persisted, by });
        known.set(key, filling);
        const filled = await filling;
        let { picture } = filled;
        for (const { file, kind, at, seed } of damages) {
          const path = fileOf(filled.picture, file);
          const variants = damagesOf(kind, picture.get(path) ?? new Uint8Array(0), seed);
          const chosen = variants[Math.floor(at * variants.length)];
          if (chosen !== undefined) picture = withFile(picture, path, chosen.bytes);
        }
        // Whatever it is: nothing wrong was served, and the second start was no worse.
        expect(await judge(picture, filled, damages.length)).toBeTypeOf("string");
      },
    ),
    { numRuns: PROPERTY_RUNS * 2 },
  );
});
