import { MessageChannel, type MessagePort } from "node:worker_threads";
import { createLane, type LaneMemory } from "./lane.js";
import { type ArenaMemory, createArena } from "./transfer.js";

/** A lane with what carries the bodies of its records. */
export interface LaneEnd {
  readonly lane: LaneMemory;
  readonly arena: ArenaMemory;
  /** Bodies that the arena does not hold. */
  readonly port: MessagePort;
}

/** What a shard has of one other shard. */
export interface Neighbour {
  readonly shard: number;
  /** Requests and decisions; what comes in it is one order with the commits of metadata. */
  readonly mainTo: LaneEnd;
  readonly mainFrom: LaneEnd;
  /** Answers to requests. */
  readonly replyTo: LaneEnd;
  readonly replyFrom: LaneEnd;
  readonly wakePort: MessagePort;
}

/** The place of a shard among all shards of the node. Can be posted, together with `portsOf`. */
export interface Seat {
  readonly shard: number;
  readonly shardCount: number;
  /** Per shard whether it sleeps, in words of a cache line each. */
  readonly sleepers: SharedArrayBuffer;
  /** Per shard the number of its native wake-up, 0 as long as it has none. */
  readonly wakeups: SharedArrayBuffer;
  readonly neighbours: readonly Neighbour[];
}

export interface LaneCapacities {
  /** Records of a main lane. */
  readonly main: number;
  /** Records of a reply lane. */
  readonly reply: number;
}

/** Memory of all arenas together, as far as each keeps a useful size. */
const ARENAS_BYTES = 64 * 1024 * 1024;
const ARENA_BYTES_MIN = 256 * 1024;
const ARENA_BYTES_MAX = 4 * 1024 * 1024;

export const SLEEPER_BYTES = 64;

/** The seats of a node: every shard has lanes to every other one. */
export function createSeats(shardCount: number, capacities: LaneCapacities): readonly Seat[] {
  const sleepers = new SharedArrayBuffer(shardCount * SLEEPER_BYTES);
  const wakeups = new SharedArrayBuffer(shardCount * 4);
  const neighbours: Neighbour[][] = Array.from({ length: shardCount }, () => []);
  const arenaBytes = arenaBytesFor(shardCount * (shardCount - 1) * 2);
  for (let low = 0; low < shardCount; low++) {
    for (let high = low + 1; high < shardCount; high++) {
      const wake = new MessageChannel();
      const mainUp = laneEnds(capacities.main, arenaBytes);
      const mainDown = laneEnds(capacities.main, arenaBytes);
      const replyUp = laneEnds(capacities.reply, arenaBytes);
      const replyDown = laneEnds(capacities.reply, arenaBytes);
      neighbours[low]?.push({
        shard: high,
        mainTo: mainUp.sender,
        mainFrom: mainDown.receiver,
        replyTo: replyUp.sender,
        replyFrom: replyDown.receiver,
        wakePort: wake.port1,
      });
      neighbours[high]?.push({
        shard: low,
        mainTo: mainDown.sender,
        mainFrom: mainUp.receiver,
        replyTo: replyDown.sender,
        replyFrom: replyUp.receiver,
        wakePort: wake.port2,
      });
    }
  }
  return neighbours.map((others, shard) => ({
    shard,
    shardCount,
    sleepers,
    wakeups,
    neighbours: others,
  }));
}

function laneEnds(capacity: number, arenaBytes: number): { readonly sender: LaneEnd; readonly receiver: LaneEnd } {
  const lane = createLane(capacity);
  const arena = createArena(arenaBytes);
  const { port1, port2 } = new MessageChannel();
  return {
    sender: { lane, arena, port: port1 },
    receiver: { lane, arena, port: port2 },
  };
}

function arenaBytesFor(arenas: number): number {
  const share = Math.max(ARENA_BYTES_MIN, Math.min(ARENA_BYTES_MAX, ARENAS_BYTES / Math.max(1, arenas)));
  return 2 ** Math.floor(Math.log2(share));
}

/** Everything of a seat that has to be moved to the shard's thread. */
export const portsOf = ({ neighbours }: Seat): MessagePort[] =>
  neighbours.flatMap(({ mainTo, mainFrom, replyTo, replyFrom, wakePort }) => [
    wakePort,
    ...[mainTo, mainFrom, replyTo, replyFrom].map(({ port }) => port),
  ]);
