import { ErrorCode } from "@iggy/protocol";
import type { FetchSection } from "../api/fetches.js";
import { FetchProgressUncertainError, IggyError, UndecodableMessagesError } from "../errors/index.js";
import { monotonicMs } from "../time/timers.js";
import type { PolledMessages } from "../values/polled-messages.js";
import { PollingStrategy } from "../values/polling-strategy.js";
import { type Checkpoint, isZeroContext } from "../values/position.js";
import { type Batch, PartitionRead } from "./partition-read.js";
import { ReadRequest, type ReadRole } from "./read-request.js";

/** What becomes of a partition after a failed read. */
export type FaultVerdict =
  | { readonly kind: "retry"; readonly afterMs: number; readonly position?: PollingStrategy }
  /** Not read again until it is sought or assigned anew. */
  | { readonly kind: "stop" };

export interface ReadTarget {
  readonly partitionId: number;
  readonly position: PollingStrategy;
}

/** How much one request asks for. */
export interface RequestLimits {
  readonly count: number;
  readonly maxWaitMs: number;
  /** Whether the server stores the offset of what it returns. */
  readonly commits: boolean;
}

export interface SchedulerSettings {
  /** Requests that may be on the way or have batches that were not taken. */
  readonly slots: number;
  readonly count: number;
  readonly maxWaitMs: number;
  readonly retryIntervalMs: number;
  /** The server stores offsets as it reads: nothing is read ahead of the application. */
  readonly commitsOnRead: boolean;
}

/** What a scheduler reads with, and whom it tells. */
export interface SchedulerParts {
  readonly fetch: (
    targets: readonly ReadTarget[],
    limits: RequestLimits,
    signal: AbortSignal,
  ) => Promise<readonly FetchSection[]>;
  readonly poll: (target: ReadTarget, limits: RequestLimits, signal: AbortSignal) => Promise<PolledMessages>;
  /** The replica that leads a partition, as far as it is known without asking. */
  readonly knownPrimary: (partitionId: number) => number | undefined;
  readonly primary: (partitionId: number, signal: AbortSignal) => Promise<number>;
  /** Makes a reply readable. What could not be made so, from its first message on, is named. */
  readonly open: ((polled: PolledMessages) => Promise<Opened>) | undefined;
  readonly onBatch: () => void;
  /** What becomes of each target after a failed read, in their order. */
  readonly onFault: (targets: readonly ReadTarget[], error: unknown) => readonly FaultVerdict[];
}

/** A reply in clear. */
export interface Opened {
  readonly polled: PolledMessages;
  readonly failure?: { readonly offset: bigint; readonly error: unknown };
}

/** What a scheduler had of its partitions when it was closed. */
export interface Remainder {
  /** What was read and not taken. */
  readonly batches: readonly Batch[];
  /** Partitions with a request whose outcome nobody learned. */
  readonly unknown: readonly number[];
}

/** An empty answer that comes sooner than this did not wait, ms: then the client does. */
const promptMs = 50;
/** Longest pause of the client between reads that do not wait, ms. */
const maxPauseMs = 1000;
/** Partitions are grouped anew by their primaries this often, ms. */
const regroupMs = 1000;
/** How long those whose primary is known wait for the others, ms. */
const togetherMs = 100;
/** Partitions of one request. */
const maxTargets = 1000;

/**
 * Decides what is read when, as far as the budget goes. Partitions of one primary share a request that waits on the
 * server; those that are known to hold more are spread over the other slots. Each partition is in one request at a
 * time, so it stays in order.
 */
export class ReadScheduler {
  readonly #settings: SchedulerSettings;
  readonly #parts: SchedulerParts;
  readonly #partitions = new Map<number, PartitionRead>();
  readonly #requests = new Set<ReadRequest>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();
  #queue: { readonly batch: Batch; readonly request: ReadRequest }[] = [];
  #isWanted = false;
  #isPumpDue = false;
  #deliveries = 0;
  #regroupedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(settings: SchedulerSettings, parts: SchedulerParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  get partitions(): readonly number[] {
    return [...this.#partitions.keys()].sort((a, b) => a - b);
  }

  find(partitionId: number): PartitionRead | undefined {
    return this.#partitions.get(partitionId);
  }

  /** The first batch of a partition that nobody took yet. */
  buffered(partitionId: number): Batch | undefined {
    return this.#queue.find(({ batch }) => batch.partitionId === partitionId)?.batch;
  }

  /** Takes partitions, each with the position where its reading starts. */
  add(starts: Iterable<readonly [partitionId: number, position: PollingStrategy]>): void {
    for (const [id, position] of starts) {
      if (!this.#partitions.has(id)) this.#partitions.set(id, new PartitionRead(id, position));
    }
    this.#pumpSoon();
  }

  /**
   * Gives a partition up. What was read and not taken is dropped, unless the server stored its offset already: then
   * nobody else would get it.
   */
  remove(partitionId: number): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined) return;
    this.#partitions.delete(partitionId);
    if (this.#settings.commitsOnRead) return;
    this.#detach(partition);
    this.#dropBatches(partitionId);
    this.#pumpSoon();
  }

  /** Moves a partition. What was read and not taken is dropped; a stopped partition is read again. */
  seek(partitionId: number, position: PollingStrategy): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined) return;
    this.#detach(partition);
    this.#dropBatches(partitionId);
    partition.move(position);
    this.#pumpSoon();
  }

  setPaused(partitionId: number, isPaused: boolean): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined || partition.isPaused === isPaused) return;
    partition.isPaused = isPaused;
    this.#pumpSoon();
  }

  /** The same for those who handle messages; both may hold at once. */
  setHeld(partitionId: number, isHeld: boolean): void {
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined || partition.isHeld === isHeld) return;
    partition.isHeld = isHeld;
    this.#pumpSoon();
  }

  /** The message at `next` and those behind it are read again: what was taken of them went unused. */
  giveBack(next: Checkpoint): void {
    const { partitionId, offset, context } = next;
    const partition = this.#partitions.get(partitionId);
    if (partition === undefined) return;
    this.#detach(partition);
    this.#dropBatches(partitionId);
    partition.position = PollingStrategy.continuing(PollingStrategy.Offset(offset), { partitionId, context });
    partition.hasBacklog = true;
    this.#pumpSoon();
  }

  /** The next batch, if one is there. Taking it makes room for another request. */
  take(): Batch | undefined {
    const index = this.#queue.findIndex(({ batch }) => this.#isWelcome(batch));
    const [entry] = index === -1 ? [] : this.#queue.splice(index, 1);
    this.#isWanted = entry === undefined;
    if (entry !== undefined) {
      this.#releaseBatch(entry.request);
      const partition = this.#partitions.get(entry.batch.partitionId);
      if (partition !== undefined) partition.deliveredAt = ++this.#deliveries;
    }
    this.#pumpSoon();
    return entry?.batch;
  }

  /**
   * Ends reading. Requests that store no offset are forgotten; the others are cancelled and their replies awaited, until
   * `signal`.
   */
  async close(signal: AbortSignal): Promise<Remainder> {
    this.#closed.abort();
    clearTimeout(this.#timer);
    const inFlight = [...this.#requests].filter(({ isInFlight }) => isInFlight);
    for (const request of inFlight) request.abort.abort();
    if (this.#settings.commitsOnRead) await settledBy([...this.#running], signal);
    const batches = this.#queue.map(({ batch }) => batch);
    this.#queue = [];
    const unknown = inFlight.filter(({ outcome }) => outcome !== "known");
    return { batches, unknown: unknown.flatMap(({ partitions }) => partitions.map(({ id }) => id)) };
  }

  // What is read next

  /** Once per turn, so that partitions that come free together share a request. */
  #pumpSoon(): void {
    if (this.#isPumpDue || this.#closed.signal.aborted) return;
    this.#isPumpDue = true;
    queueMicrotask(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#closed.signal.aborted) return;
    clearTimeout(this.#timer);
    if (this.#settings.commitsOnRead && !(this.#isWanted && !this.#queue.some(({ batch }) => this.#isWelcome(batch)))) {
      return;
    }
    const now = monotonicMs();
    const ready = this.#ready(now);
    if (ready.length === 0) return;
    this.#regroup(now);
    const alone: PartitionRead[] = [];
    const unplaced: PartitionRead[] = [];
    const groups = new Map<number, PartitionRead[]>();
    for (const partition of ready) {
      if (partition.isAlone) alone.push(partition);
      else if (partition.primary !== undefined) groupOf(groups, partition.primary).push(partition);
      else if (!partition.isLocating) unplaced.push(partition);
    }
    if (unplaced.length > 0) this.#locateAll(unplaced);
    this.#makeRoom();
    const waitMs = this.#waitMs();
    for (const [primary, members] of leastRecentFirst(groups)) this.#startWaiting(primary, members, waitMs, now);
    for (const partition of alone.sort(byLastRead)) this.#startAlone(partition, waitMs, now);
    for (const [primary, members] of groups) this.#spread(primary, members, now);
  }

  /** Partitions that a request may take now; a timer comes back for those whose time has not come. */
  #ready(now: number): PartitionRead[] {
    const ready: PartitionRead[] = [];
    let soonest = Infinity;
    for (const partition of this.#partitions.values()) {
      if (partition.request !== undefined || !partition.isActive) continue;
      if (partition.notBefore > now) soonest = Math.min(soonest, partition.notBefore);
      else ready.push(partition);
    }
    if (soonest !== Infinity) this.#timer = setTimeout(() => this.#pumpSoon(), Math.max(1, soonest - now));
    return ready;
  }

  #regroup(now: number): void {
    if (now - this.#regroupedAt < regroupMs) return;
    this.#regroupedAt = now;
    for (const partition of this.#partitions.values()) partition.primary = this.#parts.knownPrimary(partition.id);
  }

  /** Looks for the primaries of partitions. Those found soon after each other share their first request. */
  #locateAll(partitions: readonly PartitionRead[]): void {
    let isLate = false;
    let left = partitions.length;
    const timer = setTimeout(() => {
      isLate = true;
      this.#pumpSoon();
    }, togetherMs);
    for (const partition of partitions) {
      void this.#locate(partition).finally(() => {
        left--;
        if (left === 0) clearTimeout(timer);
        if (left === 0 || isLate) this.#pumpSoon();
      });
    }
  }

  async #locate(partition: PartitionRead): Promise<void> {
    partition.isLocating = true;
    try {
      partition.primary = this.#parts.knownPrimary(partition.id);
      partition.primary ??= await this.#parts.primary(partition.id, AbortSignal.any([this.#closed.signal]));
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#fault([partition], error);
    } finally {
      partition.isLocating = false;
    }
  }

  /** Slots that no request holds. */
  get #free(): number {
    return this.#settings.slots - this.#requests.size;
  }

  /**
   * Paused partitions must not starve the others: when their batches hold every slot, the newest ones are dropped and
   * read again later. Batches whose offset the server stored stay.
   */
  #makeRoom(): void {
    const isIdle = [...this.#requests].every(({ isInFlight }) => !isInFlight);
    if (this.#settings.commitsOnRead || !isIdle) return;
    while (this.#free === 0) {
      const last = this.#queue.at(-1);
      if (last === undefined || this.#queue.some(({ batch }) => this.#isWelcome(batch))) return;
      this.#queue.pop();
      this.#releaseBatch(last.request);
      this.#rewind(last.batch);
    }
  }

  #rewind({ partitionId, polled }: Batch): void {
    const partition = this.#partitions.get(partitionId);
    const first = polled.messages[0];
    if (partition === undefined || first === undefined) return;
    partition.position = PollingStrategy.continuing(PollingStrategy.Offset(first.offset), {
      partitionId,
      context: polled.context,
    });
    partition.hasBacklog = true;
  }

  /** One request per primary waits for whatever comes first; a second one takes those that became idle since. */
  #startWaiting(primary: number, members: readonly PartitionRead[], waitMs: number, now: number): void {
    // With one slot, or when the server stores offsets, nothing is read beside: the request takes everybody.
    const takesAll = this.#settings.commitsOnRead || this.#settings.slots === 1;
    const idle = takesAll ? members : members.filter(({ hasBacklog }) => !hasBacklog);
    if (idle.length === 0) return;
    const waiting = this.#parked(primary, "wait");
    if (waiting === undefined) {
      if (this.#free > 0) this.#start("wait", primary, idle, waitMs, now);
      return;
    }
    const joined = this.#parked(primary, "join");
    if (joined === undefined) {
      if (this.#free > 0) this.#start("join", primary, idle, waitMs, now);
      return;
    }
    if (this.#settings.commitsOnRead) return;
    const others = joined.partitions.filter((partition) => joined.reads(partition));
    this.#drop(joined);
    this.#start("join", primary, [...others, ...idle], waitMs, now);
  }

  #parked(primary: number, role: ReadRole): ReadRequest | undefined {
    for (const request of this.#requests) {
      if (request.isInFlight && request.primary === primary && request.role === role) return request;
    }
    return undefined;
  }

  /** Partitions that are known to hold more share the free slots. */
  #spread(primary: number, members: readonly PartitionRead[], now: number): void {
    const behind = members.filter((partition) => partition.request === undefined && partition.hasBacklog);
    // One slot stays for those that wait, as long as somebody else may want to.
    const reserve = this.#settings.slots > 1 && this.#parked(primary, "wait") === undefined && this.#hasOthers(behind);
    const free = Math.min(this.#free - (reserve ? 1 : 0), behind.length);
    if (free <= 0) return;
    behind.sort(byDelivery);
    for (let slot = 0; slot < free; slot++) {
      const share = behind.filter((_, index) => index % free === slot);
      this.#start("backlog", primary, share, 0, now);
    }
  }

  #hasOthers(behind: readonly PartitionRead[]): boolean {
    return this.#partitions.size > behind.length;
  }

  #startAlone(partition: PartitionRead, waitMs: number, now: number): void {
    if (this.#free <= 0) return;
    const waits = partition.careful === 0 && !partition.isSuspect;
    this.#start("alone", undefined, [partition], waits ? waitMs : 0, now);
  }

  /** With more requests that wait than slots, each wait is shorter, so that a round takes about one full wait. */
  #waitMs(): number {
    const { maxWaitMs, slots } = this.#settings;
    const primaries = new Set<number>();
    let waiting = 0;
    for (const partition of this.#partitions.values()) {
      if (!partition.isActive) continue;
      if (partition.isAlone) waiting++;
      else if (partition.primary !== undefined) primaries.add(partition.primary);
    }
    waiting += primaries.size;
    return waiting <= slots ? maxWaitMs : Math.floor((maxWaitMs * slots) / waiting);
  }

  // Requests

  #start(
    role: ReadRole,
    primary: number | undefined,
    wanted: readonly PartitionRead[],
    waitMs: number,
    now: number,
  ): void {
    const partitions = [...wanted].sort(byDelivery).slice(0, maxTargets);
    // A start at the stored offset holds back the stores of its partition, so it is resolved without a wait.
    const resolves = !this.#settings.commitsOnRead && partitions.some(({ position }) => position.kind === "next");
    const request = new ReadRequest(role, primary, partitions, resolves ? 0 : waitMs, now);
    // An empty answer changes what is read next, except here.
    request.mayWait = !resolves && role !== "backlog" && !partitions.some(({ isSuspect }) => isSuspect);
    for (const partition of partitions) {
      partition.request = request;
      partition.lastReadAt = now;
    }
    this.#requests.add(request);
    const run = this.#run(request).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  async #run(request: ReadRequest): Promise<void> {
    try {
      const sections = request.role === "alone" ? await this.#pollAlone(request) : await this.#fetchGroup(request);
      request.outcome = "known";
      await this.#accept(request, sections);
    } catch (error) {
      this.#failed(request, error);
    } finally {
      request.isInFlight = false;
      for (const partition of request.partitions) if (request.reads(partition)) partition.request = undefined;
      this.#releaseSlot(request);
      this.#pumpSoon();
    }
  }

  async #pollAlone({ partitions: [partition], waitMs, abort }: ReadRequest): Promise<readonly FetchSection[]> {
    if (partition === undefined) return [];
    const isCareful = partition.careful > 0;
    const limits = {
      count: isCareful ? 1 : this.#settings.count,
      maxWaitMs: waitMs,
      // What is read again to find a damaged message was stored with the first read.
      commits: this.#settings.commitsOnRead && !isCareful,
    };
    const polled = await this.#parts.poll(targetOf(partition), limits, abort.signal);
    return [
      {
        partitionId: partition.id,
        status: 0,
        error: undefined,
        messages: polled,
        currentOffset: polled.currentOffset,
        checkpoint: polled.checkpoint,
        continuation: polled.continuation,
      },
    ];
  }

  #fetchGroup({ partitions, waitMs, abort }: ReadRequest): Promise<readonly FetchSection[]> {
    const { count, commitsOnRead } = this.#settings;
    const limits = { count, maxWaitMs: waitMs, commits: commitsOnRead };
    return this.#parts.fetch(partitions.map(targetOf), limits, abort.signal);
  }

  async #accept(request: ReadRequest, sections: readonly FetchSection[]): Promise<void> {
    const isEmpty = sections.every(({ messages }) => messages === undefined || messages.count === 0);
    for (const section of sections) {
      const partition = request.find(section.partitionId);
      // Whom nobody reads any more may have been moved. What the server stored is handed over all the same.
      if (partition === undefined || !request.reads(partition)) continue;
      if (section.error === undefined) await this.#take(request, partition, section, !isEmpty);
      else this.#fault([partition], section.error);
    }
    if (!isEmpty || !request.mayWait) return;
    // The server did not wait, so reading at once would only keep both sides busy.
    const now = monotonicMs();
    if (now - request.startedAt >= promptMs) return;
    const pauseMs = Math.min(this.#settings.retryIntervalMs, maxPauseMs);
    for (const partition of request.partitions) {
      if (request.reads(partition)) partition.notBefore = Math.max(partition.notBefore, now + pauseMs);
    }
  }

  async #take(
    request: ReadRequest,
    partition: PartitionRead,
    { messages, continuation, currentOffset }: FetchSection,
    hasMessages: boolean,
  ): Promise<void> {
    if (messages === undefined) return;
    const opened: Opened =
      this.#parts.open === undefined || messages.count === 0 ? { polled: messages } : await this.#parts.open(messages);
    if (!request.reads(partition)) return;
    partition.isSuspect = false;
    partition.answeredAt = Date.now();
    partition.careful = Math.max(0, partition.careful - messages.count);
    const { polled, failure } = opened;
    if (polled.count > 0) this.#push(partition, polled, request);
    if (failure !== undefined) {
      const bound = { partitionId: partition.id, context: polled.context };
      partition.position = PollingStrategy.continuing(PollingStrategy.Offset(failure.offset), bound);
      this.#fault([partition], failure.error);
      return;
    }
    this.#advance(partition, messages, continuation);
    if (continuation.kind !== "offset") return;
    const { value: reached } = continuation;
    const isBehind = reached <= currentOffset;
    // An empty section may have had no part of the budget, or the partition may be empty: offset 0 says both.
    partition.hasBacklog = isBehind && hasMessages;
    partition.reached = reached;
    partition.end = isBehind && (polled.count > 0 || reached > 0n) ? currentOffset + 1n : reached;
  }

  #advance(partition: PartitionRead, polled: PolledMessages, continuation: PollingStrategy): void {
    const { commitsOnRead } = this.#settings;
    if (polled.count === 0) {
      // Where the stored offset rules, an empty answer changes nothing.
      if (!commitsOnRead && !isZeroContext(polled.context)) partition.position = continuation;
      return;
    }
    partition.position =
      commitsOnRead && partition.careful === 0
        ? PollingStrategy.continuing(PollingStrategy.Next, { partitionId: partition.id, context: polled.context })
        : continuation;
  }

  #push(partition: PartitionRead, polled: PolledMessages, request: ReadRequest): void {
    this.#queue.push({ batch: { partitionId: partition.id, polled }, request });
    request.open++;
    this.#isWanted = false;
    this.#parts.onBatch();
  }

  #failed(request: ReadRequest, error: unknown): void {
    if (IggyError.is(error) && !(error instanceof FetchProgressUncertainError)) request.outcome = "known";
    const partitions = request.partitions.filter((partition) => request.reads(partition));
    const isCancelled = request.abort.signal.aborted && !(error instanceof FetchProgressUncertainError);
    if (partitions.length === 0 || isCancelled) return;
    if (partitions.length > 1 && isOfOnePartition(error)) {
      for (const partition of partitions) partition.isSuspect = true;
      return;
    }
    this.#fault(partitions, error);
  }

  #fault(partitions: readonly PartitionRead[], error: unknown): void {
    const [partition] = partitions;
    if (partition !== undefined && this.#readsCarefully(partition, error)) return;
    const now = monotonicMs();
    const verdicts = this.#parts.onFault(partitions.map(targetOf), error);
    partitions.forEach((failed, index) => {
      const verdict = verdicts[index];
      failed.isSuspect = false;
      if (verdict === undefined || verdict.kind === "stop") {
        failed.isStopped = true;
        return;
      }
      failed.notBefore = now + verdict.afterMs;
      if (verdict.position !== undefined) failed.position = verdict.position;
      failed.primary = undefined;
    });
  }

  /** A reply that does not decode as a whole is read message by message, until the bad one is alone. */
  #readsCarefully(partition: PartitionRead, error: unknown): boolean {
    const isTooLarge = IggyError.is(error, ErrorCode.InvalidSizeBytes) && partition.careful === 0;
    if (isTooLarge && partition.request?.role !== "alone") {
      partition.careful = 1;
      return true;
    }
    if (!(error instanceof UndecodableMessagesError) || partition.careful > 0) return false;
    const { firstOffset, messagesCount, context } = error.reply;
    if (firstOffset === undefined && partition.position.kind !== "offset") return false;
    partition.careful = Math.max(1, messagesCount);
    if (firstOffset !== undefined) {
      const bound = { partitionId: partition.id, context };
      partition.position = PollingStrategy.continuing(PollingStrategy.Offset(firstOffset), bound);
    }
    return true;
  }

  // Slots

  #isWelcome({ partitionId }: Batch): boolean {
    return this.#partitions.get(partitionId)?.isWelcome ?? true;
  }

  #releaseBatch(request: ReadRequest): void {
    request.open--;
    this.#releaseSlot(request);
  }

  #releaseSlot(request: ReadRequest): void {
    if (!request.holdsSlot) this.#requests.delete(request);
  }

  #dropBatches(partitionId: number): void {
    this.#queue = this.#queue.filter(({ batch, request }) => {
      if (batch.partitionId !== partitionId) return true;
      this.#releaseBatch(request);
      return false;
    });
  }

  /** Takes a partition out of its request; one that reads nobody any more ends. */
  #detach(partition: PartitionRead): void {
    const { request } = partition;
    partition.request = undefined;
    if (request !== undefined && !request.partitions.some((other) => request.reads(other))) this.#drop(request);
  }

  #drop(request: ReadRequest): void {
    for (const partition of request.partitions) if (request.reads(partition)) partition.request = undefined;
    request.isInFlight = false;
    request.abort.abort();
    this.#releaseSlot(request);
  }
}

const targetOf = ({ id, position }: PartitionRead): ReadTarget => ({ partitionId: id, position });

const byDelivery = (a: PartitionRead, b: PartitionRead): number => a.deliveredAt - b.deliveredAt;

const byLastRead = (a: PartitionRead, b: PartitionRead): number => a.lastReadAt - b.lastReadAt;

function groupOf(groups: Map<number, PartitionRead[]>, primary: number): PartitionRead[] {
  const group = groups.get(primary) ?? [];
  groups.set(primary, group);
  return group;
}

/** Primaries whose partitions were read longest ago come first, when there are fewer slots than primaries. */
function leastRecentFirst(
  groups: ReadonlyMap<number, readonly PartitionRead[]>,
): readonly (readonly [number, readonly PartitionRead[]])[] {
  const lastReadOf = (members: readonly PartitionRead[]): number =>
    members.reduce((oldest, { lastReadAt }) => Math.min(oldest, lastReadAt), Infinity);
  return [...groups].sort(([, a], [, b]) => lastReadOf(a) - lastReadOf(b));
}

/** Refusals of a whole request that are about one of its partitions. */
const isOfOnePartition = (error: unknown): boolean =>
  IggyError.is(error, ErrorCode.HistoryUnavailable) || IggyError.is(error, ErrorCode.ConsumerGroupPartitionNotOwned);

/** Waits until work settles, or until `signal` says that it took too long. */
export async function settledBy(work: readonly Promise<unknown>[], signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done, { once: true });
    void Promise.allSettled(work).then(done);
  });
}
