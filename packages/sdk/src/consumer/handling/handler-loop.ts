import { InvalidPayloadError } from "../../payload/index.js";
import { sleep } from "../../time/sleep.js";
import type { Checkpoint } from "../../values/position.js";
import type { Received } from "../received.js";
import type { DeadLetters } from "./dead-letters.js";
import type { HandleSettings, MessageHandler } from "./handle-options.js";
import { type Work, WorkBook } from "./work-book.js";
import { WorkEnd } from "./work-end.js";

/** What a handler loop needs of its consumer. */
export interface HandlerLoopParts<Value> {
  /** The next message, if one is there. */
  readonly take: () => Received<Value> | undefined;
  /** An error of the reading that ends the loop. */
  readonly takeFault: () => unknown;
  readonly news: (signal: AbortSignal) => Promise<void>;
  readonly partitionsCount: () => number;
  /** Takes nothing of a partition for now. */
  readonly hold: (partitionId: number, isHeld: boolean) => void;
  /** Everything of a partition up to this message is handled. */
  readonly onAdvance: (checkpoint: Checkpoint, messages: number) => void;
  readonly onRetry: (received: Received<Value>, error: unknown) => void;
  readonly onDeadLetter: (received: Received<Value>, error: unknown, attempts: number) => void;
  /** Runs a handler so that calls made inside are known to be. */
  readonly inside: <T>(call: () => T) => T;
  readonly deadLetters: DeadLetters | undefined;
}

/** Pause between two tries to send a dead letter, ms: it doubles up to the longest. */
const deadLetterPauseMs = 250;
const maxDeadLetterPauseMs = 30_000;

/**
 * Calls a handler for every message, several at a time, in the order that was asked for, and tells how far each
 * partition came without a gap. A message is taken only while there is room for it.
 */
export class HandlerLoop<Value> {
  readonly #handler: MessageHandler<Value>;
  readonly #settings: HandleSettings<Value>;
  readonly #parts: HandlerLoopParts<Value>;
  readonly #book = new WorkBook<Received<Value>>();
  /** What is at work, and how it is told to end. */
  readonly #ends = new Map<Work<Received<Value>>, WorkEnd>();
  readonly #held = new Set<number>();
  readonly #running = new Set<Promise<void>>();
  /** No further call is made. */
  readonly #stopped = new AbortController();
  /** The results of what is at work count no more. */
  #isAborted = false;
  #wake: AbortController = new AbortController();
  #failure: { readonly error: unknown } | undefined;

  constructor(handler: MessageHandler<Value>, settings: HandleSettings<Value>, parts: HandlerLoopParts<Value>) {
    this.#handler = handler;
    this.#settings = settings;
    this.#parts = parts;
  }

  /** The first message of each partition that was taken and is not handled. */
  get unfinished(): readonly Received<Value>[] {
    return this.#book.firstOpen();
  }

  /** The same of one partition. */
  firstUnfinished(partitionId: number): Received<Value> | undefined {
    return this.#book.firstOpenOf(partitionId);
  }

  /** Resolves when the loop was stopped and everything at work has ended; rejects with what made it end. */
  async run(): Promise<void> {
    const { signal } = this.#settings;
    const onAbort = (): void => this.stop();
    if (signal?.aborted === true) return;
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      while (this.#step()) await this.#parts.news(this.#wake.signal);
      await this.ended();
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** From now on no call is made. */
  stop(): void {
    this.#stopped.abort();
    this.#wake.abort();
  }

  /** Tells what is at work that its result will not count. */
  abort(): void {
    this.stop();
    this.#isAborted = true;
    for (const end of this.#ends.values()) end.end();
  }

  /** Resolves when nothing is at work any more. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** A partition is given up, or starts over. */
  forget(partitionId: number): void {
    this.#book.drop(partitionId);
    for (const [work, end] of this.#ends) if (work.partitionId === partitionId) end.end();
    if (this.#held.delete(partitionId)) this.#parts.hold(partitionId, false);
    this.#wake.abort();
  }

  /** Takes, starts, and tells whether there is something to wait for. */
  #step(): boolean {
    if (this.#stopped.signal.aborted) return false;
    this.#wake = new AbortController();
    this.#fill();
    const fault = this.#parts.takeFault();
    if (fault !== undefined) this.#fail(fault);
    return !this.#stopped.signal.aborted;
  }

  /** Takes messages while there is room, and starts those whose turn it is. */
  #fill(): void {
    this.#startReady();
    while (!this.#stopped.signal.aborted) {
      const received = this.#parts.take();
      if (received === undefined) return;
      this.#add(received);
      this.#startReady();
    }
  }

  #add(received: Received<Value>): void {
    const { partitionId, message } = received;
    let key: ReturnType<HandleSettings<Value>["keyOf"]>;
    try {
      key = this.#settings.keyOf(received);
    } catch (error) {
      // Without its key a message has no place, so nothing behind it may be handled either.
      this.#fail(error);
    }
    this.#book.add(received, partitionId, key, message.payload.length + message.rawUserHeaders.length);
    if (!this.#hasRoom(partitionId, 1)) {
      this.#held.add(partitionId);
      this.#parts.hold(partitionId, true);
    }
  }

  /** Each partition has its share of the room, so that one that is stuck leaves the others theirs. */
  #hasRoom(partitionId: number, share: number): boolean {
    const partitions = Math.max(1, this.#parts.partitionsCount());
    const messages = Math.max(1, Math.floor((this.#settings.pendingMessages * share) / partitions));
    const bytes = (this.#settings.pendingBytes * share) / partitions;
    return this.#book.openOf(partitionId) < messages && this.#book.openBytesOf(partitionId) < bytes;
  }

  #startReady(): void {
    while (this.#book.running < this.#settings.concurrency && !this.#stopped.signal.aborted) {
      const work = this.#book.start();
      if (work === undefined) return;
      const run = this.#process(work).finally(() => {
        this.#running.delete(run);
        this.#wake.abort();
      });
      this.#running.add(run);
    }
  }

  async #process(work: Work<Received<Value>>): Promise<void> {
    const end = new WorkEnd();
    this.#ends.set(work, end);
    let isHandled = false;
    try {
      isHandled = await this.#attempts(work, end);
    } catch (error) {
      this.#fail(error);
    }
    this.#ends.delete(work);
    if (!isHandled || this.#isAborted) {
      this.#book.release(work);
      return;
    }
    const advance = this.#book.finish(work);
    if (advance === undefined) return;
    this.#parts.onAdvance(advance.last.checkpoint, advance.messages);
    const { partitionId } = work;
    // Some room, so that it is not for one message at a time.
    if (this.#held.has(partitionId) && (this.#book.openOf(partitionId) === 0 || this.#hasRoom(partitionId, 0.5))) {
      this.#held.delete(partitionId);
      this.#parts.hold(partitionId, false);
    }
  }

  /** Whether the message is handled, by the handler or as a dead letter. Rejects when it is not and must not be passed. */
  async #attempts(work: Work<Received<Value>>, end: WorkEnd): Promise<boolean> {
    const { attempts, pauseMs, retryIf } = this.#settings;
    const received = work.item;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#parts.inside(() => this.#handler(received, new Attempt(attempt, end)));
        return true;
      } catch (error) {
        if (end.isOver) return false;
        // A payload that is none of its kind stays so.
        if (attempt >= attempts || error instanceof InvalidPayloadError || !retryIf(error)) {
          if (this.#parts.deadLetters === undefined) throw error;
          return await this.#bury(work, this.#parts.deadLetters, error, attempt, end);
        }
        this.#parts.onRetry(received, error);
        if (!(await this.#pause(pauseMs(attempt, error), end))) return false;
      }
    }
  }

  /** Sends a dead letter, until it is there: a message is not passed before it is somewhere else. */
  async #bury(
    work: Work<Received<Value>>,
    deadLetters: DeadLetters,
    error: unknown,
    attempts: number,
    end: WorkEnd,
  ): Promise<boolean> {
    for (let pauseMs = deadLetterPauseMs; ; pauseMs = Math.min(maxDeadLetterPauseMs, pauseMs * 2)) {
      try {
        await deadLetters.send(work.item, error, attempts, end.signal);
        this.#parts.onDeadLetter(work.item, error, attempts);
        return true;
      } catch (failure) {
        if (end.isOver) return false;
        this.#parts.onRetry(work.item, failure);
        if (!(await this.#pause(pauseMs, end))) return false;
      }
    }
  }

  /** False when nothing may be tried after it. */
  async #pause(ms: number, end: WorkEnd): Promise<boolean> {
    try {
      await sleep(ms, { signal: AbortSignal.any([end.signal, this.#stopped.signal]) });
      return true;
    } catch (error) {
      if (end.isOver || this.#stopped.signal.aborted) return false;
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.stop();
  }
}

/** What one call of a handler is told. */
class Attempt {
  readonly attempt: number;
  readonly #end: WorkEnd;

  constructor(attempt: number, end: WorkEnd) {
    this.attempt = attempt;
    this.#end = end;
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }
}
