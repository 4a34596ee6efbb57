import type { Prepare, Proposal, Replica } from "@iggy/consensus";
import { type Applied, CorruptHistoryError, type PartitionMachine } from "@iggy/engine";
import { ErrorCode, Operation } from "@iggy/protocol";
import type { Memory, PartitionStore } from "@iggy/storage";
import type { ClientRequest, Clock } from "../../request.js";

/** One write on its way through the group, from a client, a read that commits, or the server itself. */
export interface Work {
  /** Waits for the pipeline to drain and lets nothing in beside it. */
  readonly isExclusive: boolean;
  /** Reads see it as soon as it is queued: the machine learns of it then, not when it is ordered. */
  readonly showsEarly: boolean;
  /** Decides now, when it would be ordered. Answers and gives undefined when there is nothing to order. */
  admit(timestampMicros: number): Proposal | undefined;
  /** What holds the body of the proposal, when it is pooled. */
  readonly memory?: Memory | undefined;
  /** Tells the machine that the write is ordered. */
  register(): void;
  committed(prepare: Prepare, applied: Applied): void;
  /** Not applied: it was never ordered (58 and other refusals), or its outcome is unknown (57). */
  refuse(code: number): void;
  /** Answers one more request with the same number from the same session; false when that is another write. */
  attach(request: ClientRequest): boolean;
}

export interface WritePipelineDeps {
  readonly replica: Replica;
  readonly machine: PartitionMachine;
  readonly store: PartitionStore;
  readonly clock: Clock;
  /** Any policy of the topic is `persisted`: the journal is a prefix, so all of it is synced. */
  readonly isDurable: boolean;
  /** Runs for each committed operation, before its reply. */
  readonly onApplied: (prepare: Prepare, applied: Applied) => void;
  /** Runs when a run of commits is done. */
  readonly onSettled: () => void;
  /** The journal has no room: a checkpoint makes some. */
  readonly onJournalFull: () => void;
  /** The log contradicts the state; the partition must not go on. */
  readonly onCorrupt: (error: CorruptHistoryError) => void;
}

interface InFlight {
  readonly prepare: Prepare;
  readonly work: Work;
}

/**
 * The writes of one partition: a queue of requests in front of the prepares that are ordered and not yet committed. It
 * decides about each write at the moment it is ordered, so what a write is checked against never changes before its turn.
 */
export class WritePipeline {
  private readonly deps: WritePipelineDeps;
  private readonly queueDepth: number;
  private readonly queue: Work[] = [];
  private readonly inFlight: InFlight[] = [];
  private isAppending = false;
  private isDraining = false;
  private closedWith = 0;
  /** What is in flight was given up: what the journal still reports concerns nobody. */
  private isAbandoned = false;

  constructor(deps: WritePipelineDeps) {
    this.deps = deps;
    this.queueDepth = 2 * deps.replica.identity.pipelineDepth;
  }

  /** Takes a write, now or behind others; refuses it, and gives false, when there is no room for it. */
  submit(work: Work): boolean {
    if (this.closedWith !== 0) work.refuse(this.closedWith);
    else if (this.queue.length === 0 && this.canOrder(work)) return this.order(work, false);
    else if (!work.isExclusive && this.queue.length >= this.queueDepth) work.refuse(ErrorCode.TransientNotAccepted);
    else {
      if (work.showsEarly) work.register();
      this.queue.push(work);
      return true;
    }
    return false;
  }

  /** Whether a write that fulfils the condition waits to be ordered. */
  isQueued(condition: (work: Work) => boolean): boolean {
    return this.queue.some(condition);
  }

  /** Lets the commit of an uncommitted write answer a resend of it; false when no such write is under way. */
  attach(request: ClientRequest): boolean {
    return this.inFlight.some(({ work }) => work.attach(request));
  }

  /** The journal holds everything up to `op`. */
  journaled(op: number): void {
    if (this.isAbandoned) return;
    this.deps.replica.journaled(op);
    if (!this.isAppending) this.drain();
  }

  /** The journal refused everything from `fromOp` on; nothing of it was stored. */
  rejected(fromOp: number): void {
    if (this.isAbandoned) return;
    const from = this.inFlight.findIndex(({ prepare }) => prepare.op >= fromOp);
    if (from < 0) return;
    const refused = this.inFlight.splice(from);
    this.deps.replica.handBack(fromOp);
    this.registerAnew();
    for (const { work } of refused) work.refuse(ErrorCode.TransientNotAccepted);
    this.promote();
  }

  /** Takes no more. What is queued was never ordered; the outcome of what is in flight is unknown. */
  close(code: number): void {
    this.drainOff(code);
    if (this.isAbandoned) return;
    this.isAbandoned = true;
    for (const { work } of this.inFlight.splice(0)) work.refuse(ErrorCode.TransientNotCommitted);
  }

  /** Refuses what is queued and takes no more; what is in flight still commits. */
  drainOff(code: number): void {
    if (this.closedWith !== 0) return;
    this.closedWith = code;
    for (const work of this.queue.splice(0)) work.refuse(code);
  }

  private canOrder(work: Work): boolean {
    if (this.deps.replica.admission() !== "admit" || this.isDraining) return false;
    if (this.inFlight.length === 0) return true;
    return !work.isExclusive && !this.inFlight.some((entry) => entry.work.isExclusive);
  }

  /** False when the journal has no room for it. */
  private order(work: Work, wasQueued: boolean): boolean {
    const { replica, store, clock } = this.deps;
    const isRegistered = wasQueued && work.showsEarly;
    const timestampMicros = replica.nextTimestamp(clock.nowMicros());
    const proposal = work.admit(timestampMicros);
    if (proposal === undefined) return true;
    const prepare = replica.propose(proposal, timestampMicros);
    const { op, header, body } = prepare;
    const kind = proposal.operation === Operation.SendMessages ? "batch" : "operation";
    // The journal may report before `append` returns; the commit then waits until the books are written.
    this.isAppending = true;
    const isTaken = store.append(
      { op, header, body, memory: work.memory },
      kind,
      this.deps.isDurable || work.isExclusive,
    );
    if (isTaken) {
      this.inFlight.push({ prepare, work });
      if (!isRegistered) work.register();
    }
    this.isAppending = false;
    if (isTaken) {
      this.drain();
      return true;
    }
    replica.handBack(op);
    if (isRegistered) this.registerAnew();
    work.refuse(ErrorCode.TransientNotAccepted);
    this.deps.onJournalFull();
    return false;
  }

  /** Applies what is committed, answers it, and orders what waited for the room. */
  private drain(): void {
    if (this.isDraining) return;
    const { replica, machine, store } = this.deps;
    let prepare = replica.nextCommitted();
    if (prepare === undefined) return;
    this.isDraining = true;
    try {
      for (; prepare !== undefined; prepare = replica.nextCommitted()) {
        const applied = machine.commit(prepare);
        store.commit(prepare.op);
        this.deps.onApplied(prepare, applied);
        this.inFlight.shift()?.work.committed(prepare, applied);
      }
    } catch (error) {
      if (!(error instanceof CorruptHistoryError)) throw error;
      this.deps.onCorrupt(error);
      return;
    } finally {
      this.isDraining = false;
    }
    this.promote();
    this.deps.onSettled();
  }

  private promote(): void {
    for (let next = this.queue[0]; next !== undefined && this.canOrder(next); next = this.queue[0]) {
      this.queue.shift();
      this.order(next, true);
    }
  }

  /** Tells the machine again what is ordered, after some of it was given up. */
  private registerAnew(): void {
    this.deps.machine.dropOrdered();
    for (const { work } of this.inFlight) work.register();
    for (const work of this.queue) if (work.showsEarly) work.register();
  }
}
