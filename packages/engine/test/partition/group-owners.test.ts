import fc from "fast-check";
import { ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { GroupOwners } from "../../src/partition/group-owners.js";
import { facts, Log } from "./log.js";

const group = { kind: "consumer_group", id: 5 } as const;
const [alice, bob] = [
  { client: 1n, session: 11 },
  { client: 2n, session: 22 },
];
const notOwned = ErrorCode.ConsumerGroupPartitionNotOwned;

describe("the owner fence", () => {
  it("admits the installed session, with its generation or with none", () => {
    const { machine } = ownedBy(alice, 70);
    expect(machine.ownerFence(group, alice, 0)).toBe(0);
    expect(machine.ownerFence(group, alice, 70)).toBe(0);
  });

  it("refuses another generation, another client, another session and an unknown group", () => {
    const { machine } = ownedBy(alice, 70);
    expect(machine.ownerFence(group, alice, 69)).toBe(notOwned);
    expect(machine.ownerFence(group, bob, 0)).toBe(notOwned);
    expect(machine.ownerFence(group, { ...alice, session: 12 }, 70)).toBe(notOwned);
    expect(machine.ownerFence({ ...group, id: 6 }, alice, 0)).toBe(notOwned);
  });

  it("admits nobody while the owner is empty", () => {
    const { machine } = ownedBy({ client: 0n, session: 0 }, 70);
    expect(machine.ownerFence(group, { client: 0n, session: 0 }, 70)).toBe(notOwned);
    expect(machine.ownerFence(group, alice, 0)).toBe(notOwned);
  });

  it("refuses a generation on requests that have no owner", () => {
    const { machine } = new Log();
    expect(machine.ownerFence({ kind: "consumer", id: 1 }, alice, 0)).toBe(0);
    expect(machine.ownerFence({ kind: "consumer", id: 1 }, alice, 1)).toBe(notOwned);
    expect(machine.ownerFence({ kind: "external_group", id: 1 }, alice, 1)).toBe(notOwned);
  });

  it("never goes back to an older owner", () => {
    const log = ownedBy(bob, 80);
    expect(log.install(5, alice.client, alice.session, 70)).toMatchObject({ installedGroup: undefined });
    expect(log.machine.ownerFence(group, alice, 0)).toBe(notOwned);
    expect(log.machine.ownerFence(group, bob, 0)).toBe(0);
  });

  it("rejects in the log a write that was bound to an owner before", () => {
    const log = ownedBy(alice, 70);
    log.send(10, { client: 9n, session: 1, request: 1 });
    log.write(group, 1, 70);
    log.install(5, bob.client, bob.session, 80);
    log.write(group, 9, 80);
    expect(log.write(group, 1, 70)).toMatchObject({ code: notOwned, offsetChanges: [] });
    expect(log.machine.offsets.visible(group)).toBe(9);
  });
});

describe("what an owner was served", () => {
  it("is in flight until it is committed, and that is reported once", () => {
    const log = ownedBy(alice, 70);
    log.send(10, { client: 9n, session: 1, request: 1 });
    expect(log.machine.owners.isInFlight(5, undefined)).toBe(false);
    log.machine.owners.served(5, 6);
    expect(log.machine.owners.isInFlight(5, undefined)).toBe(true);
    expect(log.write(group, 5, 70)).toMatchObject({ drainedGroup: undefined });
    expect(log.write(group, 6, 70)).toMatchObject({ drainedGroup: 5 });
    expect(log.write(group, 6, 70)).toMatchObject({ drainedGroup: undefined });
    expect(log.machine.owners.isInFlight(5, 6)).toBe(false);
  });

  it("starts over with a new owner", () => {
    const log = ownedBy(alice, 70);
    log.machine.owners.served(5, 6);
    log.install(5, bob.client, bob.session, 80);
    expect(log.machine.owners.isInFlight(5, undefined)).toBe(false);
  });
});

describe("deleted groups", () => {
  it("lose their owners and the offsets of both group kinds", () => {
    const log = ownedBy(alice, 70);
    log.send(10, { client: 9n, session: 1, request: 1 });
    log.write(group, 3, 70);
    log.write({ kind: "external_group", id: 4 }, 3);
    log.write({ kind: "consumer", id: 4 }, 3);
    expect(log.retireGroups(6, [4])).toMatchObject({ offsetChanges: [{ ...group, offset: undefined }] });
    expect(log.retireGroups(6, [])).toMatchObject({
      offsetChanges: [{ kind: "external_group", id: 4, offset: undefined }],
    });
    expect(log.machine.owner(5)).toBeUndefined();
    expect(log.machine.offsets.visible({ kind: "consumer", id: 4 })).toBe(3);
    expect(log.install(5, 1n, 1, 99)).toMatchObject({ installedGroup: undefined });
    expect(log.write({ kind: "external_group", id: 4 }, 3)).toMatchObject({ code: ErrorCode.ConsumerGroupIdNotFound });
  });

  it("stay deleted whatever catalogues follow, in any order", () => {
    const catalogue = fc
      .record({ next: fc.integer({ min: 0, max: 12 }), ids: fc.uniqueArray(fc.integer({ min: 0, max: 11 })) })
      .map(({ next, ids }) => ({ next, live: ids.filter((id) => id < next).sort((a, b) => a - b) }));
    fc.assert(
      fc.property(fc.array(catalogue, { maxLength: 6 }), (catalogues) => {
        const owners = new GroupOwners();
        for (const { next, live } of catalogues) owners.retire(next, live);
        for (let id = 0; id < 14; id++) {
          const retired = catalogues.some(({ next, live }) => id < next && !live.includes(id));
          expect(owners.isRetired(id)).toBe(retired);
        }
      }),
    );
  });
});

describe("the history fence", () => {
  it("admits the current incarnation only, and nobody once the history ended", () => {
    const log = new Log();
    expect(log.machine.historyFence(facts.incarnation)).toBe(0);
    expect(log.machine.historyFence(0)).toBe(ErrorCode.HistoryUnavailable);
    expect(log.machine.historyFence(facts.incarnation + 1)).toBe(ErrorCode.HistoryUnavailable);
    log.endHistory();
    expect(log.machine.historyFence(facts.incarnation)).toBe(ErrorCode.HistoryUnavailable);
  });
});

function ownedBy(owner: { client: bigint; session: number }, generation: number): Log {
  const log = new Log();
  log.install(group.id, owner.client, owner.session, generation);
  return log;
}
