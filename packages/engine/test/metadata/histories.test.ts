import { getConsumerGroup, getConsumerGroups, getStreams, getTopics } from "@iggy/protocol";
import { type MetadataEffect, MetadataMachine, type PartitionKey } from "@iggy/engine";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { id, type TestNode } from "./node.js";
import { type Step, steps, Workload } from "./workload.js";

const keyOf = ({ streamId, topicId, partitionId, incarnation }: PartitionKey): string =>
  [streamId, topicId, partitionId, incarnation].join("/");

/** What a node knows of partitions, owners and sessions when it follows the effects alone. */
class Follower {
  readonly partitions = new Map<string, { truncatedThrough: number; settings: unknown }>();
  readonly owners = new Map<string, { client: bigint; session: number; generation: number }>();
  readonly sessions = new Map<bigint, number>();

  follow(effect: MetadataEffect): void {
    switch (effect.kind) {
      case "partition-created":
        expect(this.partitions.has(keyOf(effect))).toBe(false);
        this.partitions.set(keyOf(effect), { truncatedThrough: -1, settings: effect.settings });
        return;
      case "partition-deleted":
        expect(this.partitions.delete(keyOf(effect))).toBe(true);
        this.dropOwners((key) => key.startsWith(`${keyOf(effect)} `));
        return;
      case "partition-truncated": {
        const partition = this.partitions.get(keyOf(effect));
        expect(effect.throughOffset).toBeGreaterThan(partition?.truncatedThrough ?? Infinity);
        if (partition !== undefined) partition.truncatedThrough = effect.throughOffset;
        return;
      }
      case "owner-decided": {
        const key = `${keyOf(effect)} ${String(effect.groupId)}`;
        const before = this.owners.get(key);
        expect(effect.owner.generation).toBeGreaterThan(before?.generation ?? 0);
        expect([effect.owner.client, effect.owner.session]).not.toEqual([before?.client, before?.session]);
        this.owners.set(key, effect.owner);
        return;
      }
      case "groups-retired": {
        const prefix = `${String(effect.streamId)}/${String(effect.topicId)}/`;
        const isGone = (groupId: number) => groupId < effect.nextGroupId && !effect.liveGroupIds.includes(groupId);
        this.dropOwners((key) => key.startsWith(prefix) && isGone(Number(key.split(" ")[1])));
        return;
      }
      case "topic-settings-changed":
        for (const [key, partition] of this.partitions) {
          if (key.startsWith(`${String(effect.streamId)}/${String(effect.topicId)}/`)) {
            partition.settings = effect.settings;
          }
        }
        return;
      case "session-registered":
        this.sessions.set(effect.clientId, effect.session);
        return;
      case "session-ended":
        expect(this.sessions.get(effect.clientId)).toBe(effect.session);
        this.sessions.delete(effect.clientId);
    }
  }

  private dropOwners(isGone: (key: string) => boolean): void {
    for (const key of [...this.owners.keys()]) if (isGone(key)) this.owners.delete(key);
  }

  expectToMatch({ machine }: TestNode): void {
    const partitions = [...machine.partitions()];
    expect([...this.partitions.keys()].sort()).toEqual(partitions.map(keyOf).sort());
    for (const partition of partitions) {
      const followed = this.partitions.get(keyOf(partition));
      expect(followed?.settings).toEqual(partition.topic.settings);
      expect(followed?.truncatedThrough).toBe(partition.truncatedBelow - 1);
      for (const group of partition.topic.groups.values()) {
        const followedOwner = this.owners.get(`${keyOf(partition)} ${String(group.id)}`);
        expect(machine.owner(partition, group.id)).toEqual(followedOwner ?? { client: 0n, session: 0, generation: 0 });
      }
    }
    const sessions = Array.from(machine.sessions(), ({ clientId, epoch }) => [clientId, epoch]);
    expect([...this.sessions]).toEqual(sessions);
  }
}

/** What holds in every state, and between two states of one history. */
class Invariants {
  private readonly generations = new Map<string, number>();
  private readonly groupIds = new Map<string, number>();
  private revision = 0;

  check({ node, root }: Workload): void {
    const { machine } = node;
    const { streams } = ok(node.read(root, getStreams, {}));
    expectDistinct(streams.map((stream) => stream.name));
    const seen = { streams: streams.length, topics: 0, partitions: 0, groups: 0 };
    for (const stream of streams) {
      const { topics } = ok(node.read(root, getTopics, { streamId: id(stream.id) }));
      expect(topics).toHaveLength(stream.topicsCount);
      expectDistinct(topics.map((topic) => topic.name));
      for (const topic of topics) {
        seen.topics++;
        seen.partitions += topic.partitionsCount;
        seen.groups += this.checkGroups(node, root, stream.id, topic.id, topic.partitionsCount);
      }
    }
    expect(machine.totals(node.stats)).toMatchObject({
      streamsCount: seen.streams,
      topicsCount: seen.topics,
      partitionsCount: seen.partitions,
      consumerGroupsCount: seen.groups,
    });
    expect(machine.revision).toBeGreaterThanOrEqual(this.revision);
    this.revision = machine.revision;
  }

  private checkGroups(
    node: TestNode,
    root: Workload["root"],
    streamId: number,
    topicId: number,
    partitionsCount: number,
  ): number {
    const place = { streamId: id(streamId), topicId: id(topicId) };
    const { groups } = ok(node.read(root, getConsumerGroups, place));
    expectDistinct(groups.map((group) => group.name));
    for (const { id: groupId } of groups) {
      const details = ok(node.read(root, getConsumerGroup, { ...place, groupId: id(groupId) }));
      if (details === null) throw new Error("a listed group is gone");
      const held = details.members.flatMap((member) => member.partitions).sort((left, right) => left - right);
      const everything = Array.from({ length: partitionsCount }, (_, partition) => partition);
      expect(held).toEqual(details.members.length === 0 ? [] : everything);
      const topic = node.machine.resolveTopic(id(streamId), id(topicId));
      const group = "groups" in topic ? topic.groups.get(groupId) : undefined;
      if (group === undefined) throw new Error("no group");
      const settled = [...group.members.values()].map(
        ({ slot, partitions }) =>
          partitions.length -
          group.pending.filter((move) => move.sourceSlot === slot).length +
          group.pending.filter((move) => move.targetSlot === slot).length,
      );
      if (settled.length > 0) expect(Math.max(...settled) - Math.min(...settled)).toBeLessThanOrEqual(1);
      for (const member of group.members.values()) {
        expect(node.machine.session(member.clientId)?.epoch).toBe(member.session);
        expect(node.machine.memberships(member.clientId)).toContainEqual({ streamId, topicId, groupId });
      }
      this.checkProgress(String(group.topic.createdOp), groupId, group.generation);
    }
    return groups.length;
  }

  private checkProgress(topicKey: string, groupId: number, generation: number): void {
    const key = `${topicKey}/${String(groupId)}`;
    expect(generation).toBeGreaterThanOrEqual(this.generations.get(key) ?? 0);
    if (!this.generations.has(key)) {
      // A group that was not there before has an id that was never there.
      expect(groupId).toBeGreaterThan(this.groupIds.get(topicKey) ?? -1);
      this.groupIds.set(topicKey, groupId);
    }
    this.generations.set(key, generation);
  }
}

function ok<T>(reply: T | number): T {
  if (typeof reply === "number") throw new Error(`refused with ${String(reply)}`);
  return reply;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

const expectDistinct = (names: readonly string[]): void => expect(new Set(names).size).toBe(names.length);

const history = (maxLength: number, check: (workload: Workload, list: readonly Step[]) => Promise<void>) =>
  fc.asyncProperty(steps(maxLength), async (list) => check(await Workload.start(), list));

describe("any history", () => {
  it("keeps the invariants, and its effects tell everything that changed outside", async () => {
    await fc.assert(
      history(60, async (workload, list) => {
        const { node } = workload;
        const follower = new Follower();
        const invariants = new Invariants();
        const replayed = new MetadataMachine(node.config);
        const check = (): void => {
          for (const prepare of node.log.slice(replayed.appliedOp)) {
            for (const effect of replayed.apply(prepare).effects) follower.follow(effect);
          }
          invariants.check(workload);
          follower.expectToMatch(node);
        };
        check();
        for (const step of list) {
          await workload.run(step);
          check();
        }
        expect(hex(replayed.snapshot())).toBe(hex(node.machine.snapshot()));
      }),
      { numRuns: 60 },
    );
  });

  it("goes on the same after a snapshot anywhere in it", async () => {
    await fc.assert(
      fc.asyncProperty(steps(50), fc.nat(), async (list, at) => {
        const { node } = await run(list);
        const cut = at % node.log.length;
        const before = new MetadataMachine(node.config);
        for (const prepare of node.log.slice(0, cut)) before.apply(prepare);
        const bytes = before.snapshot();
        const restored = MetadataMachine.restore(bytes, node.config);
        expect(hex(restored.snapshot())).toBe(hex(bytes));
        for (const prepare of node.log.slice(cut)) {
          expect(restored.apply(prepare)).toEqual(before.apply(prepare));
        }
        expect(hex(restored.snapshot())).toBe(hex(node.machine.snapshot()));
      }),
      { numRuns: 60 },
    );
  });

  it("leaves nothing behind in a refused operation", async () => {
    await fc.assert(
      history(50, async (workload, list) => {
        const { node } = workload;
        for (const step of list) await workload.run(step);
        const machine = new MetadataMachine(node.config);
        for (const prepare of node.log) {
          const before = machine.totals(node.stats);
          const revision = machine.revision;
          const { code, effects, payload } = machine.apply(prepare);
          if (code === 0) continue;
          expect([effects, payload]).toEqual([[], new Uint8Array(0)]);
          expect(machine.totals(node.stats)).toEqual(before);
          expect(machine.revision).toBe(revision);
        }
      }),
      { numRuns: 30 },
    );
  });
});

async function run(list: readonly Step[]): Promise<Workload> {
  const workload = await Workload.start();
  for (const step of list) await workload.run(step);
  return workload;
}
