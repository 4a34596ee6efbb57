import { ErrorCode, type PartitionContext } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { OffsetApi } from "../api/offsets.js";
import { ValidationError } from "../errors/index.js";
import type { PollingStrategy } from "../values/polling-strategy.js";
import { Checkpoint } from "../values/position.js";
import { isBehind, sameHistory } from "./history.js";
import type { ReadSettings } from "./read-settings.js";

/** The stored offsets of one consumer: what it may store, and what it stored last. */
export class StoredOffsets {
  readonly #settings: ReadSettings;
  readonly #offsets: OffsetApi;
  readonly #lastDelivered: (partitionId: number) => Checkpoint | undefined;
  readonly #owner: object;
  readonly #lastStored = new Map<number, bigint>();
  readonly #committed = new Map<number, Checkpoint>();
  /** The commit under way of each partition. */
  readonly #turns = new Map<number, Promise<void>>();

  constructor(
    settings: ReadSettings,
    offsets: OffsetApi,
    lastDelivered: (partitionId: number) => Checkpoint | undefined,
    owner: object,
  ) {
    this.#settings = settings;
    this.#offsets = offsets;
    this.#lastDelivered = lastDelivered;
    this.#owner = owner;
  }

  get commitsOnRead(): boolean {
    return this.#settings.limits.commit.kind === "on-read";
  }

  lastStored(partitionId: number): bigint | undefined {
    return this.#lastStored.get(partitionId);
  }

  /** The offset that the server holds for this consumer. */
  async find(partitionId: number, signal: AbortSignal): Promise<bigint | undefined> {
    return (await this.#offsets.get(this.#target(partitionId), { signal }))?.storedOffset;
  }

  /** Stores the position of a delivered message. It never moves back within a history. */
  async commit(checkpoint: Checkpoint, options: CallOptions | undefined): Promise<void> {
    if (this.commitsOnRead) {
      throw new ValidationError(
        ErrorCode.InvalidCommand,
        "commit: the server commits what is read, with CommitPolicy.OnRead",
      );
    }
    if (this.delivered(checkpoint) === undefined) return;
    const { partitionId } = checkpoint;
    // One after the other: two at a time could end with the smaller one.
    const before = this.#turns.get(partitionId) ?? Promise.resolve();
    const turn = before.then(() => this.#commitNow(checkpoint, options));
    const settled = turn.catch(() => undefined);
    this.#turns.set(partitionId, settled);
    await turn.finally(() => {
      if (this.#turns.get(partitionId) === settled) this.#turns.delete(partitionId);
    });
  }

  async #commitNow(checkpoint: Checkpoint, options: CallOptions | undefined): Promise<void> {
    const committed = this.#committed.get(checkpoint.partitionId);
    if (committed !== undefined && isBehind(checkpoint, committed)) return;
    await this.store(checkpoint.partitionId, checkpoint.offset, checkpoint.context, options);
    this.#committed.set(checkpoint.partitionId, checkpoint);
  }

  /** The checkpoint, if its message was delivered here; undefined for one of an earlier history. */
  delivered(checkpoint: Checkpoint): Checkpoint | undefined {
    if (!(checkpoint instanceof Checkpoint)) throw new TypeError("checkpoint takes the checkpoint of a message");
    const last = this.#lastDelivered(checkpoint.partitionId);
    if (last === undefined) throw notDelivered();
    if (!sameHistory(checkpoint.context, last.context)) return undefined;
    if (checkpoint.offset > last.offset) throw notDelivered();
    return checkpoint;
  }

  async store(
    partitionId: number,
    offset: bigint,
    context: PartitionContext | undefined,
    options?: CallOptions,
  ): Promise<void> {
    await this.#offsets.storeAs({ ...this.#target(partitionId), offset }, this.#as(context), options);
    this.#lastStored.set(partitionId, offset);
  }

  async delete(partitionId: number, context: PartitionContext | undefined, options?: CallOptions): Promise<void> {
    await this.#offsets.deleteAs(this.#target(partitionId), this.#as(context), options);
    this.#lastStored.delete(partitionId);
  }

  /** Under `OnRead` the position is the stored offset, so a seek stores the one before it. */
  async storeBefore(partitionId: number, { kind, value, bound }: PollingStrategy): Promise<void> {
    if (kind === "offset" && value > 0n) await this.store(partitionId, value - 1n, bound?.context);
  }

  /** An offset that the server stored for a message that nobody got moves back in front of it. */
  async rewind({ partitionId, offset, context }: Checkpoint, signal: AbortSignal): Promise<void> {
    if (offset > 0n) await this.store(partitionId, offset - 1n, context, { signal });
    else await this.delete(partitionId, context, { signal });
  }

  forget(partitionId: number): void {
    this.#committed.delete(partitionId);
  }

  #as(context: PartitionContext | undefined) {
    return { owner: this.#owner, ...(context === undefined ? {} : { context }) };
  }

  #target(partitionId: number) {
    const { streamId, topicId, consumer } = this.#settings;
    return { streamId, topicId, consumer, partitionId };
  }
}

const notDelivered = (): ValidationError =>
  new ValidationError(ErrorCode.InvalidCommand, "the checkpoint is not of a message that was handed over here");
