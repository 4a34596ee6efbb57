import { ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { alice, bob, codeOf, group, incarnation, next, partition, polled, second, settle, TestNode } from "./node.js";

const notOwned = ErrorCode.ConsumerGroupPartitionNotOwned;
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Ten messages, owned by Alice under generation 50. */
async function ownedByAlice(): Promise<TestNode> {
  const node = await TestNode.start();
  await node.send({ count: 10 }).answered;
  await node.own(alice, 50);
  return node;
}

const pollAs = (node: TestNode, sender: object, options = {}) =>
  node.poll({ consumer: group, strategy: next, ...options }, sender);

describe("the owner of a group's partition", () => {
  it("reads and commits, bound to its generation", async () => {
    const node = await ownedByAlice();
    const read = polled(await pollAs(node, alice).answered);
    expect(read.offsets).toEqual(range(0, 10));
    expect(read.context).toEqual([incarnation, 50, 100]);
    expect(codeOf(await node.store(group, 4, { ...alice, ownerGeneration: 50 }).answered)).toBe(0);
    expect(codeOf(await node.store(group, 5, alice).answered)).toBe(0);
    expect(await node.stored(group)).toBe(5);
  });

  it("is nobody else, and not under another generation", async () => {
    const node = await ownedByAlice();
    for (const sender of [bob, { ...alice, session: 111 }, { ...alice, ownerGeneration: 49 }]) {
      expect(codeOf(await pollAs(node, sender).answered)).toBe(notOwned);
      expect(codeOf(await node.store(group, 1, sender).answered)).toBe(notOwned);
      expect(codeOf(await node.deleteOffset(group, sender).answered)).toBe(notOwned);
    }
  });

  it("is waited for when metadata has decided and the log has not installed it", async () => {
    const node = await TestNode.start();
    await node.send({ count: 3 }).answered;
    node.catalog.decide(partition, { groupId: group.id, ...alice, generation: 50, revoking: false });
    const [poll, store] = [pollAs(node, alice), node.store(group, 1, alice)];
    expect([poll.answer, store.answer]).toEqual([undefined, undefined]);
    node.plane.reconcile(partition);
    expect(polled(await poll.answered).offsets).toEqual([0, 1, 2]);
    expect(codeOf(await store.answered)).toBe(0);
  });

  it("that is never installed ends the wait with 58, and a cancel does too", async () => {
    const node = await TestNode.start();
    await node.send({ count: 3 }).answered;
    node.catalog.decide(partition, { groupId: group.id, ...alice, generation: 50, revoking: false });
    const [poll, store, cancelled] = [pollAs(node, alice), node.store(group, 1, alice), pollAs(node, alice)];
    cancelled.cancel();
    expect(codeOf(await cancelled.answered)).toBe(ErrorCode.TransientNotAccepted);
    await node.clock.advance(2_000);
    expect(codeOf(await poll.answered)).toBe(ErrorCode.TransientNotAccepted);
    expect(codeOf(await store.answered)).toBe(ErrorCode.TransientNotAccepted);
  });

  it("is known again after a kill, without another installation", async () => {
    const node = await (await ownedByAlice()).killed();
    const { offsets } = polled(await pollAs(node, { ...alice, ownerGeneration: 50 }).answered);
    expect(offsets).toEqual(range(0, 10));
  });
});

describe("a handover", () => {
  it("lets the new owner go on behind the stored offset, whoever stored it", async () => {
    const node = await ownedByAlice();
    await node.store(group, 4, alice).answered;
    await node.own(bob, 60);
    expect(polled(await pollAs(node, bob).answered).offsets).toEqual(range(5, 10));
  });

  it("refuses the late commit of the former owner, and keeps the new one's offset", async () => {
    const node = await ownedByAlice();
    polled(await pollAs(node, alice, { count: 1 }).answered);
    await node.own(bob, 60);
    expect(codeOf(await node.store(group, 9, bob).answered)).toBe(0);
    expect(codeOf(await node.store(group, 1, alice).answered)).toBe(notOwned);
    expect(codeOf(await node.store(group, 1, { ...alice, ownerGeneration: 50 }).answered)).toBe(notOwned);
    expect(await node.stored(group)).toBe(9);
  });

  it("orders a commit before the new owner is installed, or refuses it", async () => {
    const node = await ownedByAlice();
    node.catalog.decide(partition, { groupId: group.id, ...bob, generation: 60, revoking: false });
    const before = node.store(group, 3, alice);
    node.plane.reconcile(partition);
    const after = node.store(group, 7, alice);
    expect(codeOf(await before.answered)).toBe(0);
    expect(codeOf(await after.answered)).toBe(notOwned);
    expect(await node.stored(group)).toBe(3);
  });

  it("takes the right to read, but not to commit, from a member that must give the partition up", async () => {
    const node = await ownedByAlice();
    polled(await pollAs(node, alice, { count: 4 }).answered);
    const waiting = pollAs(node, alice, {
      strategy: { kind: "offset", value: 10n },
      wait: { waitMicros: 20 * second },
    });
    node.catalog.decide(partition, { groupId: group.id, ...alice, generation: 50, revoking: true });
    node.plane.reconcile(partition);
    expect(codeOf(await waiting.answered)).toBe(notOwned);
    expect(codeOf(await pollAs(node, alice).answered)).toBe(notOwned);
    expect(node.plane.isGroupInFlight(partition, group.id)).toBe(true);
    expect(node.drained).toEqual([]);
    expect(codeOf(await node.store(group, 3, alice).answered)).toBe(0);
    expect(node.plane.isGroupInFlight(partition, group.id)).toBe(false);
    expect(node.drained).toEqual([group.id]);
  });

  it("ends the waiting reads of the former owner with 5009", async () => {
    const node = await ownedByAlice();
    const waiting = pollAs(node, alice, {
      strategy: { kind: "offset", value: 10n },
      wait: { waitMicros: 20 * second },
    });
    await node.own(bob, 60);
    expect(codeOf(await waiting.answered)).toBe(notOwned);
  });

  it("does not let a read store its offset under the next owner", async () => {
    const node = await ownedByAlice();
    // The read's store waits behind full prepares while the next owner is installed.
    const sends = Array.from({ length: 4 }, () => node.send({ count: 1 }));
    polled(await pollAs(node, alice, { count: 3, autoCommit: true }).answered);
    node.catalog.decide(partition, { groupId: group.id, ...bob, generation: 60, revoking: false });
    node.plane.reconcile(partition);
    await Promise.all(sends.map(({ answered }) => answered));
    await node.plane.settled();
    // It was ordered before the installation, so it counts; a store behind it would not.
    expect(await node.stored(group)).toBe(2);
    expect(codeOf(await node.store(group, 9, alice).answered)).toBe(notOwned);
  });

  it("to nobody fences everybody out", async () => {
    const node = await ownedByAlice();
    await node.own({ client: 0n, session: 0 }, 60);
    expect(codeOf(await pollAs(node, alice).answered)).toBe(notOwned);
    expect(codeOf(await node.store(group, 1, alice).answered)).toBe(notOwned);
  });
});

describe("a deleted group", () => {
  it("loses its offsets here, and its numbers never come back to life", async () => {
    const node = await ownedByAlice();
    await node.store(group, 4, alice).answered;
    await node.store({ kind: "external_group", id: 6 }, 4).answered;
    node.catalog.decide(partition, { groupId: 6, ...bob, generation: 55, revoking: false });
    node.catalog.nextGroupId = 10;
    node.catalog.deleteGroup(group.id);
    node.plane.reconcile(partition);
    await node.plane.settled();
    expect(await node.stored(group)).toBeUndefined();
    expect(await node.stored({ kind: "external_group", id: 6 })).toBe(4);
    await settle();
    expect(await (await node.killed()).stored(group)).toBeUndefined();
  });
});
