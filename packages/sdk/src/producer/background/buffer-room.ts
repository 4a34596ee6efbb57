import { ErrorCode } from "@iggy/protocol";
import { Permits } from "../../calls/permits.js";
import { Scope, ScopeEnded } from "../../calls/scope.js";
import { errorOf } from "../../errors/index.js";

/** Sends that may wait for their turn, and how often their bytes may fill the buffer: who waits holds messages, too. */
const maxWaitingSends = 65_536;
const maxWaitingBuffers = 4;

/** The bytes that a background producer may hold, and what a send does that finds no room. */
export class BufferRoom {
  readonly #capacity: number;
  readonly #waitMs: number;
  readonly #permits: Permits;
  readonly #waits = new Set<Scope>();
  #waitingBytes = 0;
  #closedBy: Error | undefined;

  /** `waitMs` 0 fails a send at once, Infinity lets it wait. */
  constructor(capacity: number, waitMs: number) {
    this.#capacity = capacity;
    this.#waitMs = waitMs;
    this.#permits = new Permits(capacity);
  }

  /** Bytes that are taken. */
  get used(): number {
    return this.#capacity === Infinity ? 0 : this.#capacity - this.#permits.free;
  }

  /** Takes room at once, or none. */
  tryTake(bytes: number): boolean {
    return this.#capacity === Infinity || this.#permits.tryTake(bytes);
  }

  give(bytes: number): void {
    if (this.#capacity !== Infinity) this.#permits.give(bytes);
  }

  /** Notes that a send begins to wait; to be called in the order of the sends. `bytes` are those that it holds. */
  enter(bytes: number, signal: AbortSignal | undefined): RoomWait {
    if (bytes > this.#capacity) {
      throw overflow(`a send of ${String(bytes)} bytes exceeds maxBufferSize, ${String(this.#capacity)}`);
    }
    const isCrowded =
      this.#waits.size >= maxWaitingSends || this.#waitingBytes + bytes > maxWaitingBuffers * this.#capacity;
    if (isCrowded) {
      throw overflow(`${String(this.#waits.size)} sends wait already; await send() before the next one`);
    }
    const scope = new Scope(this.#waitMs === 0 ? Infinity : this.#waitMs, signal);
    this.#waits.add(scope);
    this.#waitingBytes += bytes;
    return {
      take: async (wanted) => {
        if (this.#closedBy !== undefined) throw this.#closedBy;
        if (wanted > this.#capacity) {
          throw overflow(`a send of ${String(wanted)} bytes exceeds maxBufferSize, ${String(this.#capacity)}`);
        }
        if (this.tryTake(wanted)) return;
        if (this.#waitMs === 0) throw overflow("the buffer of the producer is full");
        try {
          await this.#permits.take(scope, wanted);
        } catch (error) {
          throw this.#endOf(error);
        }
      },
      leave: () => {
        if (!this.#waits.delete(scope)) return;
        this.#waitingBytes -= bytes;
        scope.dispose();
      },
    };
  }

  /** Nobody gets room any more. */
  close(reason: Error): void {
    this.#closedBy = reason;
    for (const scope of [...this.#waits]) scope.stop(reason);
  }

  #endOf(error: unknown): unknown {
    if (!(error instanceof ScopeEnded)) return error;
    if (error.end.kind === "stopped") return error.end.reason;
    return errorOf(
      ErrorCode.BackgroundSendTimeout,
      `the buffer of the producer had no room for ${String(this.#waitMs)} ms`,
    );
  }
}

/** The wait of one send. */
export interface RoomWait {
  /** Takes room, when there is some in time. */
  take(bytes: number): Promise<void>;
  /** The send waits no longer. */
  leave(): void;
}

const overflow = (message: string): Error =>
  errorOf(ErrorCode.BackgroundSendBufferOverflow, message, {
    hint: "Raise maxBufferSize, wait for earlier sends, or send less at once.",
  });
