import type { Assignment, GroupApi, GroupTarget } from "../api/groups.js";
import { unref } from "../time/timers.js";
import type { Id } from "../values/id.js";

export interface MembershipSettings {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly name: Id;
  readonly createGroup: boolean;
  readonly groups: GroupApi;
  readonly onAssignment: (assignment: Assignment) => Promise<void>;
  readonly onRejoined: () => void;
  readonly onError: (error: unknown) => void;
}

/** A member asks for its assignment this often, ms. */
const syncIntervalMs = 1000;

/** Membership of one consumer in its group: joins, keeps the assignment fresh, joins again, leaves. */
export class Membership {
  readonly #settings: MembershipSettings;
  readonly #group: GroupTarget;
  readonly #stopped = new AbortController();
  #timer: ReturnType<typeof setInterval> | undefined;
  #syncing: Promise<void> | undefined;
  #current: Assignment | undefined;
  #isMember = false;

  constructor(settings: MembershipSettings) {
    this.#settings = settings;
    const { streamId, topicId, name } = settings;
    this.#group = { streamId, topicId, groupId: name };
  }

  /** Creates the group when it is missing and may be created, joins, and takes the first assignment. */
  async start(): Promise<void> {
    await this.#join();
    await this.#sync();
    this.#timer = setInterval(() => void this.refresh(), syncIntervalMs);
    unref(this.#timer);
  }

  /** Reads the assignment now. Callers at the same time share one reading. */
  refresh(): Promise<void> {
    this.#syncing ??= this.#sync()
      .catch((error: unknown) => {
        if (!this.#stopped.signal.aborted) this.#settings.onError(error);
      })
      .finally(() => (this.#syncing = undefined));
    return this.#syncing;
  }

  /** Stops reading the assignment; partitions change hands no more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopped.abort();
    await this.#syncing;
  }

  /** False when there was nothing to leave. */
  async leave(signal: AbortSignal): Promise<boolean> {
    if (!this.#isMember) return false;
    this.#isMember = false;
    await this.#settings.groups.leave(this.#group, { signal });
    return true;
  }

  async #join(): Promise<void> {
    const { groups, createGroup, streamId, topicId, name } = this.#settings;
    const options = { signal: this.#stopped.signal };
    if (createGroup && typeof name === "string") await groups.ensure({ streamId, topicId, name }, options);
    // A join whose reply is lost may have taken effect, so the group is left in any case.
    this.#isMember = true;
    await groups.join(this.#group, options);
  }

  async #sync(): Promise<void> {
    const options = { signal: this.#stopped.signal };
    let assignment = await this.#settings.groups.sync(this.#group, options);
    if (assignment === null) {
      // The session is another one, or the server ended the membership: the group goes on without this member.
      this.#current = undefined;
      await this.#join();
      this.#settings.onRejoined();
      assignment = await this.#settings.groups.sync(this.#group, options);
    }
    if (assignment === null || (this.#current !== undefined && isNoNews(assignment, this.#current))) return;
    this.#current = assignment;
    await this.#settings.onAssignment(assignment);
  }
}

/** Whether an assignment is older than the known one, or the same. A handover changes the partitions alone. */
const isNoNews = (assignment: Assignment, known: Assignment): boolean =>
  assignment.generation < known.generation ||
  (assignment.generation === known.generation &&
    assignment.partitions.length === known.partitions.length &&
    assignment.partitions.every((partition) => known.partitions.includes(partition)));
