import type { ConsumerKindName } from "@iggy/protocol";

/** Key of a stored offset within a partition. */
export interface OffsetKey {
  readonly kind: ConsumerKindName;
  readonly id: number;
}

/** A changed offset, as the file of its key records it; without an offset the file goes. */
export interface OffsetChange extends OffsetKey {
  readonly offset: number | undefined;
}

const NONE = -1;

interface Slot {
  committed: number;
  /** Value once every ordered write has committed. */
  tail: number;
  /** Ordered, uncommitted writes. */
  pending: number;
  /** Value of the newest pending write that reads see before it commits; counts only while `earlyPending` does. */
  early: number;
  /** Writes left to commit up to and including that one. */
  earlyPending: number;
}

/**
 * Stored offsets of one partition, by kind. The value of a commit on read shows at once to later reads of this primary,
 * before its write commits; all other writes show when they commit.
 */
export class ConsumerOffsets {
  private readonly kinds: Record<ConsumerKindName, Map<number, Slot>> = {
    consumer: new Map(),
    consumer_group: new Map(),
    external_group: new Map(),
  };

  /** What reads see. */
  visible({ kind, id }: OffsetKey): number | undefined {
    const slot = this.kinds[kind].get(id);
    if (slot === undefined) return undefined;
    return present(slot.earlyPending > 0 ? slot.early : slot.committed);
  }

  committed({ kind, id }: OffsetKey): number | undefined {
    const slot = this.kinds[kind].get(id);
    return slot === undefined ? undefined : present(slot.committed);
  }

  /** The value once everything ordered has committed. */
  tail({ kind, id }: OffsetKey): number | undefined {
    const slot = this.kinds[kind].get(id);
    return slot === undefined ? undefined : present(slot.tail);
  }

  /** Keys of a kind, the ones of uncommitted writes included. */
  count(kind: ConsumerKindName): number {
    return this.kinds[kind].size;
  }

  has({ kind, id }: OffsetKey): boolean {
    return this.kinds[kind].has(id);
  }

  /** A write was ordered. `early` shows its value to reads at once. */
  ordered({ kind, id }: OffsetKey, offset: number | undefined, early: boolean): void {
    const slot = this.slot(kind, id);
    slot.pending++;
    slot.tail = offset ?? NONE;
    if (early) {
      slot.early = slot.tail;
      slot.earlyPending = slot.pending;
    }
  }

  /** Uncommitted writes of this node were given up, as a view change does. */
  dropPending(): void {
    for (const kind of kindNames) {
      for (const [id, slot] of [...this.kinds[kind]]) {
        slot.pending = 0;
        slot.tail = slot.committed;
        slot.earlyPending = 0;
        this.dropUnused({ kind, id }, slot);
      }
    }
  }

  /** An ordered write of the key committed and did what it does; `set` came before when it changed the value. */
  settled(key: OffsetKey): void {
    const slot = this.kinds[key.kind].get(key.id);
    if (slot === undefined || slot.pending === 0) return;
    slot.pending--;
    if (slot.earlyPending > 0) slot.earlyPending--;
    if (slot.pending === 0) slot.tail = slot.committed;
    this.dropUnused(key, slot);
  }

  /** Sets or removes the committed value. */
  set(key: OffsetKey, offset: number | undefined): void {
    const slot = this.slot(key.kind, key.id);
    slot.committed = offset ?? NONE;
    if (slot.pending === 0) slot.tail = slot.committed;
    this.dropUnused(key, slot);
  }

  /** Lowest offset that a consumer or a group has stored: what retention must keep begins behind it. */
  lowestHold(): number | undefined {
    let lowest: number | undefined;
    for (const kind of ["consumer", "consumer_group"] as const) {
      for (const { committed, tail } of this.kinds[kind].values()) {
        if (committed !== NONE && (lowest === undefined || committed < lowest)) lowest = committed;
        if (tail !== NONE && (lowest === undefined || tail < lowest)) lowest = tail;
      }
    }
    return lowest;
  }

  /** Whether some committed offset of a kind has a key that fulfils the condition. */
  hasKey(kind: ConsumerKindName, isWanted: (id: number) => boolean): boolean {
    for (const [id, { committed }] of this.kinds[kind]) if (committed !== NONE && isWanted(id)) return true;
    return false;
  }

  /** Committed offsets of a kind, by ascending key. */
  entries(kind: ConsumerKindName): (readonly [id: number, offset: number])[] {
    return [...this.kinds[kind]]
      .filter(([, slot]) => slot.committed !== NONE)
      .map(([id, slot]) => [id, slot.committed] as const)
      .sort(([a], [b]) => a - b);
  }

  private slot(kind: ConsumerKindName, id: number): Slot {
    const found = this.kinds[kind].get(id);
    if (found !== undefined) return found;
    const slot: Slot = { committed: NONE, tail: NONE, pending: 0, early: NONE, earlyPending: 0 };
    this.kinds[kind].set(id, slot);
    return slot;
  }

  private dropUnused({ kind, id }: OffsetKey, slot: Slot): void {
    if (slot.committed === NONE && slot.pending === 0) this.kinds[kind].delete(id);
  }
}

const kindNames = ["consumer", "consumer_group", "external_group"] as const satisfies readonly ConsumerKindName[];

const present = (offset: number): number | undefined => (offset === NONE ? undefined : offset);
