import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSessionParking, SharedSessionParking } from "../../src/shards/session-parking.js";

const MAX = 3;
const client = fc.bigInt({ min: 1n, max: (1n << 128n) - 1n });

describe("the waiting reads of sessions", () => {
  it("are counted over all shards: none has more than it may, and what is released is free again", () => {
    const step = fc.record({ client: fc.nat(4), shard: fc.nat(2), isRelease: fc.boolean() });
    fc.assert(
      fc.property(fc.uniqueArray(client, { minLength: 5, maxLength: 5 }), fc.array(step), (clients, steps) => {
        const memory = createSessionParking();
        const shards = [0, 1, 2].map(() => new SharedSessionParking(memory, MAX));
        const taken = clients.map(() => 0);
        for (const { client: who, shard, isRelease } of steps) {
          const parking = shards[shard];
          const [id = 1n, held = 0] = [clients[who], taken[who]];
          if (isRelease && held > 0) {
            parking?.release(id);
            taken[who] = held - 1;
          } else if (!isRelease) {
            const hasTaken = parking?.take(id) ?? false;
            if (hasTaken) taken[who] = held + 1;
            expect(taken[who]).toBeLessThanOrEqual(MAX);
          }
        }
        for (const [who, held] of taken.entries()) {
          for (let count = 0; count < held; count++) shards[0]?.release(clients[who] ?? 1n);
        }
        expect(new Int32Array(memory, 4).every((counter) => counter === 0)).toBe(true);
      }),
    );
  });

  it("rarely meet in a bucket, and not the same sessions on every node", () => {
    const pairs = (): Set<number> => {
      const parking = new SharedSessionParking(createSessionParking(), 1);
      const refused = new Set<number>();
      for (let id = 1; id <= 1000; id++) if (!parking.take(BigInt(id) << 64n)) refused.add(id);
      return refused;
    };
    const [one, other] = [pairs(), pairs()];
    expect(one.size).toBeLessThan(40);
    expect(other.size).toBeLessThan(40);
    expect([...one].filter((id) => other.has(id)).length).toBeLessThan(Math.max(5, one.size));
  });
});
