import { monotonicMs } from "../time/timers.js";
import type { CallOptions } from "./caller.js";
import type { Assignment, GroupApi, GroupTarget } from "./groups.js";

/** An assignment is read again after this time, ms, so that a member learns of partitions it was given. */
const maxAgeMs = 5000;
/** An assignment that nobody asked for in this time is not kept fresh, ms. */
const idleMs = 60_000;
/** Groups whose assignment is kept. */
const maxGroups = 1024;

interface Known {
  readonly group: GroupTarget;
  readonly assignment: Assignment | null;
  readonly readAt: number;
  /** When a partition was last taken from it. */
  usedAt: number;
  next: number;
}

/** The partitions that this session may poll, by group as the caller spelled it. */
export class Assignments {
  readonly #groups: GroupApi;
  readonly #known = new Map<string, Known>();
  #isRefreshing = false;
  /** Rises with the session. */
  #epoch = 0;

  constructor(groups: GroupApi) {
    this.#groups = groups;
  }

  /** The member's next partition, one after the other; undefined when it owns none. */
  async nextPartition(group: GroupTarget, options?: CallOptions): Promise<number | undefined> {
    const known = await this.#fresh(group, options);
    const partitions = known.assignment?.partitions ?? [];
    if (partitions.length === 0) return undefined;
    const partition = partitions[known.next % partitions.length];
    known.next++;
    known.usedAt = monotonicMs();
    return partition;
  }

  /** The assignment changed, or the session: it is read again. */
  forget(group: GroupTarget): void {
    this.#known.delete(keyOf(group));
  }

  /** Reads every assignment again, so that the next poll need not. One that can not be read in time is left as it is. */
  async refresh(timeoutMs: number): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    const oldest = monotonicMs() - idleMs;
    const groups = [...this.#known.values()].filter(({ usedAt }) => usedAt > oldest).map(({ group }) => group);
    const reads = groups.map((group) => this.#read(group, { timeout: timeoutMs }).catch(() => undefined));
    await Promise.all(reads);
    this.#isRefreshing = false;
  }

  /** The session is gone, and with it every membership. */
  clear(): void {
    this.#epoch++;
    this.#known.clear();
  }

  async #fresh(group: GroupTarget, options: CallOptions | undefined): Promise<Known> {
    const key = keyOf(group);
    const found = this.#known.get(key);
    if (found !== undefined && monotonicMs() - found.readAt < maxAgeMs) return found;
    return this.#read(group, options);
  }

  async #read(group: GroupTarget, options: CallOptions | undefined): Promise<Known> {
    const key = keyOf(group);
    const epoch = this.#epoch;
    const assignment = await this.#groups.sync(group, options);
    const { next = 0, usedAt = monotonicMs() } = this.#known.get(key) ?? {};
    const known = { group, assignment, readAt: monotonicMs(), usedAt, next };
    if (epoch !== this.#epoch) return known;
    this.#known.delete(key);
    this.#known.set(key, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= maxGroups) break;
      this.#known.delete(oldest);
    }
    return known;
  }
}

const keyOf = ({ streamId, topicId, groupId }: GroupTarget): string => JSON.stringify([streamId, topicId, groupId]);
