import { MemoryIo } from "@iggy/storage";
import { describe, expect, it } from "vitest";
import { TestCatalog } from "./catalog.js";
import { confirmed, incarnation, partition, polled, settle, TestNode } from "./node.js";

describe("a partition under numbers that were used before", () => {
  it.each(["killed", "without power"])("starts empty wherever the removal of its predecessor was %s", async (end) => {
    for (let mutation = 1; ; mutation++) {
      const io = new MemoryIo();
      const catalog = new TestCatalog();
      catalog.put(partition, incarnation);
      const node = await TestNode.start({ io, catalog });
      for (let i = 0; i < 3; i++) await node.send({ count: 5, payloadBytes: 100_000 }).answered;
      io.haltAt(mutation);
      catalog.put(partition, incarnation + 1);
      node.plane.reconcile(partition);
      await settle();
      const isOver = !io.halted;
      const next = await TestNode.start({ io: end === "killed" ? io.kill() : io.losePower(), catalog });
      const errors = next.logged.filter(({ level }) => level === "error");
      expect([mutation, errors]).toEqual([mutation, []]);
      const sender = { partitionIncarnation: incarnation + 1 };
      const offset = confirmed(await next.send({ count: 1, text: "new" }, sender).answered);
      // A loss of power may cost it the offsets that were reserved, as it does any other.
      expect([mutation, offset]).toEqual([mutation, end === "killed" ? 0 : expect.toBeOneOf([0, 1000])]);
      expect(polled(await next.poll({}, sender).answered).texts).toEqual(["new0"]);
      if (isOver) return;
    }
  });
});
