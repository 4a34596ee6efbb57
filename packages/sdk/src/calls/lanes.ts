import type { IggyError } from "../errors/index.js";
import type { Operation } from "./operations.js";
import { Permits } from "./permits.js";
import type { Scope } from "./scope.js";

/** Names an order that calls must keep: one lane for metadata, one per history of a partition. */
export type LaneKey = string;

export const metadataLane: LaneKey = "metadata";

/** All partitions that one create made share an incarnation, so the lane needs the partition id as well. */
export const partitionLane = (incarnation: bigint, partitionId: number): LaneKey =>
  `${String(incarnation)}/${String(partitionId)}`;

/** The partition that a partition lane belongs to. */
export const partitionOfLane = (lane: LaneKey): number => Number(lane.slice(lane.indexOf("/") + 1));

interface Lane {
  readonly turn: Permits;
  users: number;
}

/**
 * Turns of calls that must not overtake each other, in the order of asking, and the operations with an unknown outcome
 * that block them. A lane exists while somebody uses it.
 */
export class Lanes {
  readonly #lanes = new Map<LaneKey, Lane>();
  readonly #blockers = new Map<LaneKey, Operation>();
  readonly #blockedError: (blocker: Operation, key: LaneKey) => IggyError;

  constructor(blockedError: (blocker: Operation, key: LaneKey) => IggyError) {
    this.#blockedError = blockedError;
  }

  /** Waits for the turn. The caller gives it back with the function that it gets. */
  async enter(key: LaneKey, scope: Scope): Promise<() => void> {
    const lane = this.#lanes.get(key) ?? { turn: new Permits(1), users: 0 };
    this.#lanes.set(key, lane);
    lane.users++;
    const leave = (): void => {
      lane.users--;
      if (lane.users === 0) this.#lanes.delete(key);
    };
    try {
      await lane.turn.take(scope);
    } catch (error) {
      leave();
      throw error;
    }
    return () => {
      lane.turn.give();
      leave();
    };
  }

  blocker(key: LaneKey): Operation | undefined {
    return this.#blockers.get(key);
  }

  throwIfBlocked(key: LaneKey): void {
    const blocker = this.#blockers.get(key);
    if (blocker !== undefined) throw this.#blockedError(blocker, key);
  }

  block(key: LaneKey, operation: Operation): void {
    this.#blockers.set(key, operation);
  }

  unblock(key: LaneKey, operation: Operation): void {
    if (this.#blockers.get(key) === operation) this.#blockers.delete(key);
  }
}
