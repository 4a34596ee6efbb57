import type { RetentionClass } from "@iggy/protocol";

/** One change of one applied op. */
export interface LoggedChange {
  readonly op: number;
  /** Place among the changes of the op, from 0. */
  readonly ordinal: number;
  readonly checksum: bigint;
  readonly timestampMicros: number;
  /** Acting user; null for the server. */
  readonly actorUserId: number | null;
  readonly group: number;
  readonly kind: number;
  readonly body: Uint8Array;
}

/** Place of a change in the log. */
export interface ChangePosition {
  readonly op: number;
  readonly ordinal: number;
  readonly checksum: bigint;
  readonly timestampMicros: number;
}

export const isBehind = (position: Pick<ChangePosition, "op" | "ordinal">, of: ChangePosition): boolean =>
  position.op < of.op || (position.op === of.op && position.ordinal < of.ordinal);

/**
 * Body bytes that one class may hold, whatever its capacity in records: the permissions of a user are part of each of its
 * changes, and have no bound of their own.
 */
export const CHANGE_QUEUE_BYTES_MAX = 64 * 1024 * 1024;

/** The changes of one retention class, oldest first. */
export class ChangeQueue {
  readonly capacity: number;
  readonly bytesMax: number;
  private bytes = 0;
  /** Live entries start at `head`; the part before it is cut off now and then, so removal is cheap. */
  private entries: LoggedChange[] = [];
  private head = 0;
  /** The newest change that is gone; undefined when nothing is. */
  evicted: ChangePosition | undefined;

  constructor(capacity: number, bytesMax = CHANGE_QUEUE_BYTES_MAX) {
    this.capacity = capacity;
    this.bytesMax = bytesMax;
  }

  get length(): number {
    return this.entries.length - this.head;
  }

  at(index: number): LoggedChange | undefined {
    return this.entries[this.head + index];
  }

  get newest(): ChangePosition | undefined {
    return this.length > 0 ? this.entries.at(-1) : this.evicted;
  }

  push(change: LoggedChange): void {
    this.entries.push(change);
    this.bytes += change.body.length;
  }

  /** Removes the oldest operations until the rest fits. An operation goes as a whole or stays as a whole. */
  evict(): void {
    while (this.length > this.capacity || this.bytes > this.bytesMax) this.evictOldestOperation();
    if (this.head > 1024 && this.head > this.entries.length / 2) {
      this.entries = this.entries.slice(this.head);
      this.head = 0;
    }
  }

  private evictOldestOperation(): void {
    const op = this.entries[this.head]?.op;
    while (this.length > 0 && this.entries[this.head]?.op === op) {
      const change = this.entries[this.head];
      if (change !== undefined) {
        const { ordinal, checksum, timestampMicros } = change;
        this.bytes -= change.body.length;
        this.evicted = { op: change.op, ordinal, checksum, timestampMicros };
      }
      this.head++;
    }
  }

  /** Index of the first entry that comes after a position. */
  indexAfter(position: Pick<ChangePosition, "op" | "ordinal">): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const entry = this.at(middle);
      if (entry !== undefined && isBehind(position, entry)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  *[Symbol.iterator](): IterableIterator<LoggedChange> {
    for (let index = this.head; index < this.entries.length; index++) {
      const entry = this.entries[index];
      if (entry !== undefined) yield entry;
    }
  }
}

/** The bounded log of applied changes. Activity has its own room, so that it never pushes out changes of resources. */
export class ChangeLog {
  readonly queues: Readonly<Record<RetentionClass, ChangeQueue>>;

  constructor(capacity: Readonly<Record<RetentionClass, number>>) {
    this.queues = { resource: new ChangeQueue(capacity.resource), activity: new ChangeQueue(capacity.activity) };
  }

  append(retention: RetentionClass, change: LoggedChange): void {
    this.queues[retention].push(change);
  }

  /** To be called after each operation: an operation is never cut in two. */
  evict(): void {
    this.queues.resource.evict();
    this.queues.activity.evict();
  }

  /** Position of the newest change, kept or gone; undefined when there never was one. */
  get newest(): ChangePosition | undefined {
    const { resource, activity } = this.queues;
    const [left, right] = [resource.newest, activity.newest];
    if (left === undefined || right === undefined) return left ?? right;
    return isBehind(left, right) ? right : left;
  }
}
