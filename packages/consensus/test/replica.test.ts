import { describe, expect, it } from "vitest";
import { type GroupIdentity, type Proposal, type RecoveredGroup, Replica } from "../src/index.js";

const identity: GroupIdentity = {
  group: 1n << 63n,
  cluster: 0n,
  replica: 0,
  members: [0],
  pipelineDepth: 4,
  retryCapacity: 16,
};
const fresh: RecoveredGroup = { view: 0, logView: 0, op: 0, headChecksum: 0n, commit: 0, timestampMicros: 0 };
const proposal = (request: number): Proposal => ({
  operation: 128,
  client: 1n,
  session: 1,
  request,
  requestChecksum: 0n,
  userId: 0,
  partitionIncarnation: 0,
  body: new Uint8Array([request]),
});
const parents: bigint[] = [];
const sealer = {
  seal: (_proposal: unknown, { op, parent }: { op: number; parent: bigint }) => {
    parents.push(parent);
    return { header: new Uint8Array(256), checksum: BigInt(op * 100) };
  },
};
const propose = (replica: Replica, request: number, now: number) =>
  replica.propose(proposal(request), replica.nextTimestamp(now));

describe("a group of one", () => {
  it("commits an operation once its own journal holds it, in order", () => {
    const replica = new Replica(identity, fresh, sealer);
    propose(replica, 1, 10);
    propose(replica, 2, 10);
    expect(replica.nextCommitted()).toBeUndefined();
    replica.journaled(1);
    expect(replica.commit).toBe(1);
    expect(replica.nextCommitted()?.request).toBe(1);
    expect(replica.nextCommitted()).toBeUndefined();
    replica.journaled(2);
    expect(replica.nextCommitted()?.op).toBe(2);
    expect(replica.uncommitted).toBe(0);
  });

  it("commits every operation below a journaled one", () => {
    const replica = new Replica(identity, fresh, sealer);
    for (let i = 1; i <= 3; i++) propose(replica, i, 10);
    replica.journaled(3);
    expect([replica.nextCommitted(), replica.nextCommitted(), replica.nextCommitted()].map((p) => p?.op)).toEqual([
      1, 2, 3,
    ]);
  });

  it("takes back operations that its journal refused, and gives their numbers out again", () => {
    const replica = new Replica(identity, fresh, sealer);
    for (let i = 1; i <= 3; i++) propose(replica, i, 10);
    replica.journaled(1);
    replica.handBack(2);
    expect(replica.op).toBe(1);
    const again = propose(replica, 4, 10);
    expect(again.op).toBe(2);
    expect(again.timestampMicros).toBe(13);
    expect(parents.at(-1)).toBe(100n);
    expect(() => {
      replica.handBack(1);
    }).toThrow(RangeError);
    expect(() => {
      replica.handBack(3);
    }).toThrow(RangeError);
    const pair = new Replica({ ...identity, members: [0, 1] }, fresh, sealer);
    propose(pair, 1, 10);
    expect(() => {
      pair.handBack(1);
    }).toThrow(RangeError);
  });

  it("stamps strictly increasing times even when the clock stands still or goes back", () => {
    const replica = new Replica(identity, { ...fresh, timestampMicros: 50 }, sealer);
    const stamps = [10, 10, 200, 100].map((now, i) => propose(replica, i + 1, now).timestampMicros);
    expect(stamps).toEqual([51, 52, 200, 201]);
    expect(() => replica.propose(proposal(9), 201)).toThrow(RangeError);
  });

  it("chains each prepare to the one before it", () => {
    parents.length = 0;
    const replica = new Replica(identity, { ...fresh, op: 7, commit: 7, headChecksum: 700n }, sealer);
    propose(replica, 1, 1);
    propose(replica, 2, 2);
    expect(parents).toEqual([700n, 800n]);
  });

  it("takes no more than the pipeline holds", () => {
    const replica = new Replica(identity, fresh, sealer);
    for (let i = 1; i <= 4; i++) propose(replica, i, i);
    expect(replica.admission()).toBe("busy");
    expect(() => propose(replica, 5, 5)).toThrow(RangeError);
    replica.journaled(1);
    replica.nextCommitted();
    expect(replica.admission()).toBe("admit");
  });
});

it("a member that is not the primary of its view takes no proposals", () => {
  const replica = new Replica({ ...identity, members: [1, 0, 2] }, fresh, sealer);
  expect(replica.primary).toBe(1);
  expect(replica.admission()).toBe("not-primary");
});

it("three members need a second copy before they commit", () => {
  const replica = new Replica({ ...identity, members: [0, 1, 2] }, fresh, sealer);
  propose(replica, 1, 1);
  replica.journaled(1);
  expect(replica.commit).toBe(0);
});
