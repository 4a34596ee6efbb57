/** One call of a handler. */
interface Handling {
  readonly member: string;
  readonly partition: number;
  readonly offset: number;
  readonly startedAt: number;
  readonly signal: AbortSignal;
  endedAt: number | undefined;
  /** When it was told that its result does not count. */
  abortedAt: number | undefined;
}

/** Time in which a member learns that a partition is somebody else's, ms; the machine may be busy. */
const noticeMs = 3000;

/** Everything that the members of a group did, and what of it must not be. */
export class ChurnRecord {
  readonly faults: string[] = [];
  readonly #handlings = new Map<string, Handling[]>();
  /** The offset that was confirmed as stored, by partition, with the time of the confirmation. */
  readonly #stored = new Map<number, { readonly offset: number; readonly at: number }[]>();
  /** When each member took each partition last. */
  readonly #taken = new Map<string, number>();
  /** The last offset that each member was given of a partition since it took it. */
  readonly #last = new Map<string, number>();
  /** The highest offset of each partition that anybody was given. */
  readonly #highest = new Map<number, number>();
  duplicates = 0;
  overlaps = 0;

  /** Messages of a partition that were handled at least once. */
  handled(partition: number, count: number): number {
    let handled = 0;
    for (let offset = 0; offset < count; offset++) {
      const done = this.#handlings.get(`${partition}/${offset}`)?.some(({ endedAt }) => endedAt !== undefined);
      if (done === true) handled++;
    }
    return handled;
  }

  assigned(member: string, partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#taken.set(`${member}/${partition}`, performance.now());
      this.#last.delete(`${member}/${partition}`);
    }
  }

  storedTo(partition: number, offset: number): void {
    const stores = this.#stored.get(partition) ?? [];
    stores.push({ offset, at: performance.now() });
    this.#stored.set(partition, stores);
  }

  /** A handler starts; the result is called when it ends. */
  start(member: string, partition: number, offset: number, signal: AbortSignal): () => void {
    const key = `${partition}/${offset}`;
    const earlier = this.#handlings.get(key) ?? [];
    const now = performance.now();
    this.#checkOrder(member, partition, offset);
    if (earlier.length > 0) this.#checkRepeat(member, partition, offset);
    const handling: Handling = {
      member,
      partition,
      offset,
      startedAt: now,
      signal,
      endedAt: undefined,
      abortedAt: undefined,
    };
    signal.addEventListener("abort", () => (handling.abortedAt ??= performance.now()), { once: true });
    this.#handlings.set(key, [...earlier, handling]);
    return () => (handling.endedAt = performance.now());
  }

  /** Looks at what only shows in the end: who went on with a message that somebody else had. */
  finish(): void {
    for (const [key, handlings] of this.#handlings) {
      for (const [index, later] of handlings.entries()) {
        for (const earlier of handlings.slice(0, index)) this.#checkOverlap(key, earlier, later);
      }
    }
  }

  /** A member gets the messages of a partition in their order, from where it took it; nothing is passed over. */
  #checkOrder(member: string, partition: number, offset: number): void {
    const last = this.#last.get(`${member}/${partition}`);
    if (last !== undefined && offset !== last + 1) {
      this.faults.push(`${member} got ${partition}/${offset} after ${last}`);
    }
    this.#last.set(`${member}/${partition}`, offset);
    const highest = this.#highest.get(partition) ?? -1;
    if (offset > highest + 1) this.faults.push(`${partition}/${offset} came although ${highest + 1} never had`);
    this.#highest.set(partition, Math.max(highest, offset));
  }

  /** A message comes again only while its offset is not stored. */
  #checkRepeat(member: string, partition: number, offset: number): void {
    this.duplicates++;
    const takenAt = this.#taken.get(`${member}/${partition}`) ?? 0;
    const before = (this.#stored.get(partition) ?? []).filter(({ at }) => at < takenAt);
    const stored = Math.max(-1, ...before.map((store) => store.offset));
    if (offset <= stored) this.faults.push(`${member} got ${partition}/${offset} again although ${stored} was stored`);
  }

  /** Two members have a message at once only until the first is told that it is no longer its own. */
  #checkOverlap(key: string, earlier: Handling, later: Handling): void {
    const endedAt = earlier.endedAt ?? Infinity;
    if (endedAt <= later.startedAt) return;
    if (earlier.abortedAt !== undefined && earlier.abortedAt <= later.startedAt) return;
    this.overlaps++;
    const toldAt = Math.min(earlier.abortedAt ?? Infinity, endedAt);
    if (toldAt - later.startedAt > noticeMs) {
      this.faults.push(`${earlier.member} and ${later.member} both had ${key} for ${toldAt - later.startedAt} ms`);
    }
  }
}
