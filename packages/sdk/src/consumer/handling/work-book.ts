/** What messages of one order run one after the other; `undefined` runs beside everything. */
export type OrderKey = string | number | bigint | undefined;

/** One message that is to be handled. */
export interface Work<Item> {
  readonly item: Item;
  readonly partitionId: number;
  readonly key: OrderKey;
  readonly sizeBytes: number;
  isDone: boolean;
  /** Its partition was given up: it is not started, and its end counts for nothing. */
  isDropped: boolean;
}

/** How far a partition is handled without a gap. */
export interface Advance<Item> {
  /** The last message before which, itself included, everything is handled. */
  readonly last: Item;
  /** Messages that it passed. */
  readonly messages: number;
}

/** The messages of a partition that are not passed yet, in order. */
interface Ledger<Item> {
  works: Work<Item>[];
  /** Works before this index were passed. */
  passed: number;
  /** Bytes of those that were not. */
  openBytes: number;
}

/** Passed works that a ledger keeps before it lets go of them, so that doing so costs little per message. */
const compactAt = 256;

/**
 * The books of a handler that works on many messages at once: what may start now, and how far each partition may be
 * committed. It has no clock and starts nothing itself.
 *
 * Messages of one key start in their order, each after the one before it ended. A partition advances to the message in
 * front of its first unfinished one, never past it.
 */
export class WorkBook<Item> {
  readonly #ledgers = new Map<number, Ledger<Item>>();
  readonly #ready: Work<Item>[] = [];
  /** Works that wait for an earlier one of their key; an entry stands for a key at work. */
  readonly #waiting = new Map<NonNullable<OrderKey>, Work<Item>[]>();
  #running = 0;

  get running(): number {
    return this.#running;
  }

  /** Messages of a partition that were added and not passed. */
  openOf(partitionId: number): number {
    const ledger = this.#ledgers.get(partitionId);
    return ledger === undefined ? 0 : ledger.works.length - ledger.passed;
  }

  openBytesOf(partitionId: number): number {
    return this.#ledgers.get(partitionId)?.openBytes ?? 0;
  }

  /** The first message of each partition that was added and not handled. */
  firstOpen(): readonly Item[] {
    return [...this.#ledgers.keys()].flatMap((partitionId) => this.firstOpenOf(partitionId) ?? []);
  }

  firstOpenOf(partitionId: number): Item | undefined {
    const ledger = this.#ledgers.get(partitionId);
    return ledger?.works[ledger.passed]?.item;
  }

  /** Takes the next message of a partition. */
  add(item: Item, partitionId: number, key: OrderKey, sizeBytes: number): void {
    const work: Work<Item> = { item, partitionId, key, sizeBytes, isDone: false, isDropped: false };
    const ledger = this.#ledgers.get(partitionId) ?? { works: [], passed: 0, openBytes: 0 };
    this.#ledgers.set(partitionId, ledger);
    ledger.works.push(work);
    ledger.openBytes += sizeBytes;
    if (key === undefined) {
      this.#ready.push(work);
      return;
    }
    const queue = this.#waiting.get(key);
    if (queue !== undefined) queue.push(work);
    else {
      this.#waiting.set(key, []);
      this.#ready.push(work);
    }
  }

  /** The next message to start, if one may. */
  start(): Work<Item> | undefined {
    for (;;) {
      const work = this.#ready.shift();
      if (work === undefined) return undefined;
      if (!work.isDropped) {
        this.#running++;
        return work;
      }
      this.#letNextGo(work.key);
    }
  }

  /** A message that was started is handled. Tells how far its partition came by that. */
  finish(work: Work<Item>): Advance<Item> | undefined {
    this.release(work);
    if (work.isDropped) return undefined;
    work.isDone = true;
    const ledger = this.#ledgers.get(work.partitionId);
    return ledger === undefined ? undefined : this.#advance(ledger);
  }

  /** A message that was started will not be handled now. It stays open, and those of its key go on without it. */
  release(work: Work<Item>): void {
    this.#running--;
    this.#letNextGo(work.key);
  }

  /** A partition is given up, or starts over elsewhere. */
  drop(partitionId: number): void {
    const ledger = this.#ledgers.get(partitionId);
    if (ledger === undefined) return;
    this.#ledgers.delete(partitionId);
    for (let at = ledger.passed; at < ledger.works.length; at++) {
      const work = ledger.works[at];
      if (work !== undefined) work.isDropped = true;
    }
  }

  #advance(ledger: Ledger<Item>): Advance<Item> | undefined {
    const from = ledger.passed;
    let last: Work<Item> | undefined;
    for (let work = ledger.works[ledger.passed]; work?.isDone === true; work = ledger.works[ledger.passed]) {
      last = work;
      ledger.passed++;
      ledger.openBytes -= work.sizeBytes;
    }
    const messages = ledger.passed - from;
    if (ledger.passed >= compactAt || ledger.passed === ledger.works.length) {
      ledger.works = ledger.works.slice(ledger.passed);
      ledger.passed = 0;
    }
    return last === undefined ? undefined : { last: last.item, messages };
  }

  #letNextGo(key: OrderKey): void {
    if (key === undefined) return;
    const next = this.#waiting.get(key)?.shift();
    if (next === undefined) this.#waiting.delete(key);
    else this.#ready.push(next);
  }
}
