import type { CallOptions } from "../api/caller.js";
import type { PolledMessages } from "../values/polled-messages.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import type { Checkpoint } from "../values/position.js";
import type { PartitionFigures } from "./figures.js";
import { Reading, type ReadingParts } from "./reading.js";
import type { ReadSettings } from "./read-settings.js";
import type { ConsumerEvents, ReaderEventName } from "./reading-events.js";

/** How long `close()` waits for the last stores of offsets, ms. */
const drainMs = 5000;

/**
 * Reads up to 1000 partitions of a topic, batch by batch, each batch of one partition. Batches of a partition come in
 * order from its start, from each seek and from each new assignment. `close()` or `await using` stores what is counted
 * and leaves the group; a reader that is dropped stores nothing.
 */
export class PartitionReader implements AsyncDisposable, AsyncIterable<PolledMessages> {
  readonly #settings: ReadSettings;
  readonly #reading: Reading;
  readonly #onClose: (reader: PartitionReader) => void;
  /** The last message of the batch that the application has. */
  #inHand: { readonly checkpoint: Checkpoint; readonly messages: number } | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(settings: ReadSettings, parts: ReadingParts & { readonly onClose: (reader: PartitionReader) => void }) {
    this.#settings = settings;
    this.#onClose = parts.onClose;
    this.#reading = new Reading(settings, parts, {
      isThrown: (_error, kind) => kind !== "passing",
      onForget: (partitionId) => {
        if (this.#inHand?.checkpoint.partitionId === partitionId) this.#inHand = undefined;
      },
    });
  }

  /** @internal Takes the partitions, or joins the group. A reader that can not start is closed. */
  async start(): Promise<this> {
    try {
      await this.#reading.start();
      return this;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** The partitions that are read now: those named, or the group's current assignment. */
  get partitions(): readonly number[] {
    return this.#reading.partitions;
  }

  /**
   * The next batch; `done` once the reader is closed. It waits without limit. An abort of `signal` keeps the batch for
   * the next call. Rejects with `ReadError`, after which reading goes on.
   */
  async next({ signal }: { readonly signal?: AbortSignal } = {}): Promise<IteratorResult<PolledMessages, undefined>> {
    this.#countProcessed();
    for (;;) {
      if (this.#closing !== undefined) return { done: true, value: undefined };
      signal?.throwIfAborted();
      const polled = this.#take();
      if (polled !== undefined) return { done: false, value: polled };
      const fault = this.#reading.takeFault();
      if (fault !== undefined) throw fault;
      await this.#reading.news(signal);
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<PolledMessages, undefined> {
    return {
      next: () => this.next(),
      // The loop was left, by `break` or by an error: nobody says that its last batch was processed.
      return: () => {
        this.#inHand = undefined;
        return Promise.resolve({ done: true as const, value: undefined });
      },
    };
  }

  /** Stores the position of a message that this reader handed over. It never moves back. */
  async commit(checkpoint: Checkpoint, options?: CallOptions): Promise<void> {
    await this.#reading.commit(checkpoint, options);
  }

  /** Counts a message, and those before it, as consumed; for `Auto` with `after: "marked"`. */
  mark(checkpoint: Checkpoint): void {
    this.#reading.mark(checkpoint);
  }

  /** Moves a partition. What was read ahead is dropped; a partition that stopped is read again. */
  async seek(partitionId: number, strategy: PollingStrategy): Promise<void> {
    await this.#reading.seek(partitionId, strategy);
  }

  /** How the reading of a partition stands; undefined for one that is not read here. */
  figures(partitionId: number): PartitionFigures | undefined {
    return this.#reading.figures(partitionId);
  }

  on<Name extends ReaderEventName>(name: Name, listener: (event: ConsumerEvents[Name]) => void): this {
    this.#reading.events.on(name, listener);
    return this;
  }

  off<Name extends ReaderEventName>(name: Name, listener: (event: ConsumerEvents[Name]) => void): this {
    this.#reading.events.off(name, listener);
    return this;
  }

  /**
   * Ends reading, stores what is counted, leaves the group. May be called from inside the loop that reads. Without
   * `graceful` nothing is stored and the group is not left.
   */
  close({ graceful = true }: { readonly graceful?: boolean } = {}): Promise<void> {
    this.#closing ??= this.#close(graceful);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #take(): PolledMessages | undefined {
    const polled = this.#reading.take()?.polled;
    const checkpoint = polled?.checkpoint;
    if (polled === undefined || checkpoint === undefined || checkpoint === null) return undefined;
    this.#reading.noteDelivered(checkpoint);
    this.#inHand = { checkpoint, messages: polled.count };
    if (this.#countsAt("delivery")) this.#count();
    return polled;
  }

  /** The application is done with the batch in hand. */
  #countProcessed(): void {
    if (this.#countsAt("processing")) this.#count();
    this.#inHand = undefined;
  }

  #countsAt(after: "processing" | "delivery"): boolean {
    const { commit } = this.#settings.limits;
    return commit.kind === "auto" && commit.after === after;
  }

  #count(): void {
    const { commit } = this.#settings.limits;
    if (this.#inHand === undefined) return;
    const { checkpoint, messages } = this.#inHand;
    this.#reading.count(checkpoint, messages);
    if (commit.kind === "auto" && commit.everyBatch) void this.#reading.flush(checkpoint.partitionId);
  }

  async #close(graceful: boolean): Promise<void> {
    // What is in hand counts, unless the loop that had it was left.
    this.#countProcessed();
    const drain = AbortSignal.timeout(graceful ? drainMs : 0);
    await this.#reading.close(graceful, drain, (batches) => firstOf(batches), undefined);
    this.#onClose(this);
  }
}

/** The first message of each partition of batches that nobody took. */
function firstOf(batches: readonly { readonly polled: PolledMessages }[]): readonly Checkpoint[] {
  const first = new Map<number, Checkpoint>();
  for (const { polled } of batches) {
    if (!first.has(polled.partitionId) && polled.count > 0) first.set(polled.partitionId, polled.checkpointAt(0));
  }
  return [...first.values()];
}
