import { ErrorCode } from "@iggy/protocol";
import type { CallOptions } from "../api/caller.js";
import type { SendCalls, SendConfirmation } from "../api/sends.js";
import { IggyError, UnauthenticatedError } from "../errors/index.js";
import type { IdempotentSends } from "./idempotent/idempotent-sends.js";
import type { OutgoingBatch } from "./outgoing-batch.js";

/** Sends batches to their partitions, numbered when the producer is idempotent. */
export class BatchSender {
  readonly #sends: SendCalls;
  readonly #idempotent: IdempotentSends | undefined;
  readonly #owner: object;

  constructor(sends: SendCalls, idempotent: IdempotentSends | undefined, owner: object) {
    this.#sends = sends;
    this.#idempotent = idempotent;
    this.#owner = owner;
  }

  /** Sends a batch. One without a fixed partition goes on to another once, when its topic turned out to be smaller. */
  async send(batch: OutgoingBatch, options: CallOptions): Promise<readonly SendConfirmation[]> {
    const { choice, topic } = batch;
    const { name, about } = topic;
    if (choice.partitionId !== undefined && choice.key === undefined) {
      return this.#sendTo(choice.partitionId, batch, options);
    }
    try {
      const partitionId = choice.partitionId ?? (await this.#nextPartition(batch, options));
      return await this.#sendTo(partitionId, batch, options);
    } catch (error) {
      if (!IggyError.is(error, ErrorCode.PartitionNotFound)) throw error;
    }
    const count = await this.#sends.readPartitions(name, about, options);
    if (choice.key === undefined) return this.#sendTo(this.#sends.nextBalanced(name, count, about), batch, options);
    const confirmations: SendConfirmation[] = [];
    for (const part of batch.byKeysAmong(count)) {
      confirmations.push(...(await this.#sendTo(part.choice.partitionId ?? 0, part, options)));
    }
    return confirmations;
  }

  async #nextPartition({ topic: { name, about } }: OutgoingBatch, options: CallOptions): Promise<number> {
    const count = this.#sends.knownPartitions(name) ?? (await this.#sends.readPartitions(name, about, options));
    return this.#sends.nextBalanced(name, count, about);
  }

  #sendTo(partitionId: number, batch: OutgoingBatch, options: CallOptions): Promise<readonly SendConfirmation[]> {
    if (this.#idempotent !== undefined) return this.#idempotent.send(batch, partitionId, options);
    checkSignIn(batch, this.#sends);
    const { name, about } = batch.topic;
    const frame = batch.frameFor(partitionId);
    return this.#sends.sendFrame({ topic: name, partitionId, frame, about, owner: this.#owner }, options);
  }
}

/** Work stays with the sign-in that it was given to. */
export function checkSignIn({ signIn }: OutgoingBatch, sends: SendCalls): void {
  if (sends.signIn !== signIn) {
    throw new UnauthenticatedError("the messages belong to an earlier sign-in of the client; they were not sent");
  }
}
