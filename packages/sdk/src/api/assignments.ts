import { monotonicMs } from "../time/timers.js";
import type { CallOptions } from "./caller.js";
import type { Assignment, GroupApi, GroupTarget } from "./groups.js";

/** An assignment is read again after this time, ms, so that a member learns of partitions it was given. */
const maxAgeMs = 5000;
/** Groups whose assignment is kept. */
const maxGroups = 1024;

interface Known {
  readonly assignment: Assignment | null;
  readonly readAt: number;
  next: number;
}

/** The partitions that this session may poll, by group as the caller spelled it. */
export class Assignments {
  readonly #groups: GroupApi;
  readonly #known = new Map<string, Known>();

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
    return partition;
  }

  /** The assignment changed, or the session: it is read again. */
  forget(group: GroupTarget): void {
    this.#known.delete(keyOf(group));
  }

  clear(): void {
    this.#known.clear();
  }

  async #fresh(group: GroupTarget, options: CallOptions | undefined): Promise<Known> {
    const key = keyOf(group);
    const found = this.#known.get(key);
    if (found !== undefined && monotonicMs() - found.readAt < maxAgeMs) return found;
    const assignment = await this.#groups.sync(group, options);
    const known = { assignment, readAt: monotonicMs(), next: found?.next ?? 0 };
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
