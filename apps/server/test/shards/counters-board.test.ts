import { partitionGroup } from "@iggy/protocol";
import type { MetadataEffect, PartitionKey } from "@iggy/engine";
import fc from "fast-check";
import { expect, it } from "vitest";
import { CountersBoard, createBoards } from "../../src/shards/counters-board.js";
import { Placement } from "../../src/shards/placement.js";

const stats = (messagesCount: number) => ({ messagesCount, sizeBytes: 1, segmentsCount: 2, currentOffset: 3 });
const key = (partitionId: number, incarnation: number): PartitionKey => ({
  streamId: 1,
  topicId: 1,
  partitionId,
  incarnation,
});
const created = (partition: PartitionKey): MetadataEffect =>
  ({ ...partition, kind: "partition-created", view: 0, members: [], settings: {} }) as unknown as MetadataEffect;
const deleted = (partition: PartitionKey): MetadataEffect => ({ ...partition, kind: "partition-deleted" });

it("shows the figures of the incarnation that is meant and of no other, however far shards have followed", () => {
  const script = fc.array(fc.record({ partition: fc.integer({ min: 0, max: 12 }), lag: fc.boolean() }), {
    maxLength: 80,
  });
  fc.assert(
    fc.property(script, (steps) => {
      const placement = new Placement(2);
      const memory = createBoards(2);
      const boards = [0, 1].map((shard) => new CountersBoard(shard, placement, memory, []));
      const behind: MetadataEffect[][] = [[], []];
      const live = new Map<number, PartitionKey>();
      const shown = new Map<string, number>();
      const catchUp = (shard: number): void => {
        boards[shard]?.follow(behind[shard]?.splice(0) ?? []);
      };
      steps.forEach(({ partition, lag }, at) => {
        const known = live.get(partition);
        const next = key(partition, at + 1);
        const effect = known === undefined ? created(next) : deleted(known);
        if (known === undefined) live.set(partition, next);
        else live.delete(partition);
        for (const effects of behind) effects.push(effect);
        const owner = placement.shardOf(next);
        catchUp(owner);
        if (!lag) catchUp(1 - owner);
        if (known === undefined) {
          boards[owner]?.publish(next, stats(at));
          shown.set(`${partitionGroup(next)}/${next.incarnation}`, at);
        }
        for (const partitionKey of live.values()) {
          for (const board of boards) {
            const found = board.read(partitionKey)?.messagesCount;
            const expected = shown.get(`${partitionGroup(partitionKey)}/${partitionKey.incarnation}`);
            expect([undefined, expected]).toContain(found);
          }
        }
      });
      for (const shard of [0, 1]) catchUp(shard);
      for (const partitionKey of live.values()) {
        const expected = shown.get(`${partitionGroup(partitionKey)}/${partitionKey.incarnation}`);
        for (const board of boards) expect(board.read(partitionKey)?.messagesCount).toBe(expected);
      }
    }),
    { numRuns: 100 },
  );
});
