import { describe, expect, it } from "vitest";
import type { PartitionAddress } from "../../src/partitions/index.js";
import { TestCatalog } from "./catalog.js";
import { alice, bob, group, incarnation, partition, settle, TestNode } from "./node.js";

const PARTITIONS = 30;
const GROUPS = 10;
const at = (partitionId: number): PartitionAddress => ({ ...partition, partitionId });
const ids = Array.from({ length: PARTITIONS }, (_, i) => i);

/** A topic of many partitions, each owned by Alice for many groups. */
async function wideTopic(): Promise<TestNode> {
  const catalog = new TestCatalog();
  for (const id of ids) catalog.put(at(id), incarnation);
  const node = await TestNode.start({ catalog });
  decide(node, alice, 50);
  node.plane.reconcile(partition);
  await node.plane.settled();
  catalog.looks = 0;
  return node;
}

function decide(node: TestNode, owner: typeof alice, generation: number, groups = GROUPS): void {
  for (const id of ids) {
    for (let groupId = 0; groupId < groups; groupId++) {
      node.catalog.decide(at(id), { groupId, ...owner, generation, revoking: false });
    }
  }
}

describe("what metadata decided about a wide topic", () => {
  it("is looked at for the groups that it concerns only", async () => {
    const node = await wideTopic();
    decide(node, bob, 60, 1);
    node.plane.reconcile({ ...partition, groupIds: new Set([0]) });
    await node.plane.settled();
    expect(node.catalog.looks).toBe(PARTITIONS);
    const { answer } = node.poll({ consumer: { ...group, id: 0 } }, bob);
    expect(answer?.kind).toBe("ok");
  });

  it("is tried again partition by partition while the disk is full", async () => {
    const node = await wideTopic();
    node.disk.capacityBytes = 0;
    decide(node, bob, 60, 1);
    node.plane.reconcile(partition);
    await node.plane.settled();
    node.catalog.looks = 0;
    await node.clock.advance(1_000);
    await settle();
    expect(node.catalog.looks).toBe(PARTITIONS * GROUPS);
    node.disk.capacityBytes = 1e9;
    await node.clock.advance(1_000);
    expect(node.poll({ consumer: { ...group, id: 0 } }, bob).answer?.kind).toBe("ok");
  });

  it("is carried out once a predecessor is gone, partition by partition", async () => {
    const node = await wideTopic();
    for (const id of ids) node.catalog.put(at(id), incarnation + 1);
    node.plane.reconcile(partition);
    node.catalog.looks = 0;
    await node.plane.settled();
    expect(node.catalog.looks).toBe(PARTITIONS * GROUPS);
  });
});
