import { ErrorCode, IggyError } from "@iggy/protocol";
import { busy } from "../route/index.js";

export interface WriteLaneLimits {
  /** Partition writes in flight of one session, and of the node. */
  readonly sessionWritesMax: number;
  readonly nodeWritesMax: number;
  /** Writes of one session that wait for a partition to be free. */
  readonly sessionWaitersMax: number;
  /** Bytes of all writes that wait or are in flight; one is let in however large it is. */
  readonly bytesMax: number;
  /** The longest wait for a partition. */
  readonly waitMillis: number;
}

export const WRITE_LANE_LIMITS: WriteLaneLimits = {
  sessionWritesMax: 32,
  nodeWritesMax: 128,
  sessionWaitersMax: 256,
  bytesMax: 128 * 1024 * 1024,
  waitMillis: 10_000,
};

/** A write whose turn it is. */
export interface Turn {
  /** It is answered, or its outcome stays unknown: the next one may go. Runs once. */
  leave(): void;
}

interface Waiter {
  admit(): void;
}

/**
 * Partition writes of one session run one at a time for each partition, in the order in which they came. Who waits counts
 * as in flight only once its partition is free, so that a busy partition does not use up what others may take.
 */
export class WriteLanes {
  private readonly limits: WriteLaneLimits;
  /** Lanes in use, and who waits for them. */
  private readonly lanes = new Map<string, Waiter[]>();
  private readonly waitersOf = new Map<string, number>();
  private readonly writesOf = new Map<string, number>();
  private writes = 0;
  private bytes = 0;

  constructor(limits: WriteLaneLimits = WRITE_LANE_LIMITS) {
    this.limits = limits;
  }

  /** Writes in flight. */
  get inFlight(): number {
    return this.writes;
  }

  /**
   * Resolves when it is the turn of a write to this partition. Rejects with 429 or 503 when there is no room for it, and
   * with 58 when the wait takes too long or `signal` says that nobody waits for the answer any more.
   */
  async enter(session: string, partition: number, sizeBytes: number, signal: AbortSignal): Promise<Turn> {
    const { bytesMax } = this.limits;
    if (this.bytes > 0 && this.bytes + sizeBytes > bytesMax) {
      throw busy(503, "server_busy", "too many bytes of writes wait to be committed on this node");
    }
    this.bytes += sizeBytes;
    const lane = `${session} ${partition}`;
    try {
      const waiters = this.lanes.get(lane);
      if (waiters === undefined) this.lanes.set(lane, []);
      else await this.wait(session, waiters, signal);
    } catch (error) {
      this.bytes -= sizeBytes;
      throw error;
    }
    const refusal = this.refusal(session);
    if (refusal !== undefined) {
      this.bytes -= sizeBytes;
      this.pass(lane);
      throw refusal;
    }
    this.writes++;
    count(this.writesOf, session, 1);
    return { leave: once(() => this.leave(session, lane, sizeBytes)) };
  }

  private refusal(session: string): Error | undefined {
    const { sessionWritesMax, nodeWritesMax } = this.limits;
    if ((this.writesOf.get(session) ?? 0) >= sessionWritesMax) return tooMany(sessionWritesMax);
    if (this.writes < nodeWritesMax) return undefined;
    return busy(503, "server_busy", `${nodeWritesMax} partition writes are in flight on this node`);
  }

  private wait(session: string, waiters: Waiter[], signal: AbortSignal): Promise<void> {
    const { sessionWaitersMax, waitMillis } = this.limits;
    if ((this.waitersOf.get(session) ?? 0) >= sessionWaitersMax) return Promise.reject(tooMany(sessionWaitersMax));
    count(this.waitersOf, session, 1);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
        count(this.waitersOf, session, -1);
      };
      const waiter = {
        admit: (): void => {
          settle();
          resolve();
        },
      };
      const giveUp = (): void => {
        waiters.splice(waiters.indexOf(waiter), 1);
        settle();
        reject(new IggyError(ErrorCode.TransientNotAccepted, "an earlier write to the partition is still under way"));
      };
      const timer = setTimeout(giveUp, waitMillis);
      signal.addEventListener("abort", giveUp, { once: true });
      waiters.push(waiter);
      if (signal.aborted) giveUp();
    });
  }

  private leave(session: string, lane: string, sizeBytes: number): void {
    this.writes--;
    this.bytes -= sizeBytes;
    count(this.writesOf, session, -1);
    this.pass(lane);
  }

  /** Lets the next one in, or closes the lane. */
  private pass(lane: string): void {
    const next = this.lanes.get(lane)?.shift();
    if (next === undefined) this.lanes.delete(lane);
    else next.admit();
  }
}

const tooMany = (max: number): Error =>
  busy(429, "too_many_in_flight_writes", `${max} partition writes of this session are under way`);

function count(counts: Map<string, number>, key: string, step: number): void {
  const value = (counts.get(key) ?? 0) + step;
  if (value === 0) counts.delete(key);
  else counts.set(key, value);
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}
