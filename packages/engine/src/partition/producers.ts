import { ErrorCode } from "@iggy/protocol";

/** Sequences count messages per producer and partition and wrap to 0 here. */
const SEQUENCES = 2 ** 31;
/** Batches of the current epoch that a resend is recognised by. */
export const BATCHES_REMEMBERED = 5;
/** Above this the producer that is idle longest is forgotten. */
export const PRODUCERS_MAX = 4096;
/** A producer without a batch for this long is forgotten. */
export const PRODUCER_IDLE_MICROS = 24 * 60 * 60 * 1_000_000;

/** Identity of a batch of an idempotent producer. */
export interface ProducerBatch {
  readonly producerId: bigint;
  readonly epoch: number;
  /** Sequence of the first message. */
  readonly sequence: number;
  readonly messagesCount: number;
}

/** A batch that was written, as a resend of it is answered. */
export interface WrittenBatch {
  readonly sequence: number;
  readonly messagesCount: number;
  readonly baseOffset: number;
  readonly op: number;
}

export interface Producer {
  readonly epoch: number;
  /** Oldest first, at most five, all of this epoch. */
  readonly batches: readonly WrittenBatch[];
  readonly lastTimestampMicros: number;
}

export type ProducerDecision =
  | { readonly kind: "accept" }
  | { readonly kind: "duplicate"; readonly batch: WrittenBatch }
  | { readonly kind: "refuse"; readonly code: number };

const accept: ProducerDecision = { kind: "accept" };
const unknown: ProducerDecision = { kind: "refuse", code: ErrorCode.ProducerUnknown };
const fenced: ProducerDecision = { kind: "refuse", code: ErrorCode.ProducerEpochFenced };
const outOfOrder: ProducerDecision = { kind: "refuse", code: ErrorCode.ProducerSequenceOutOfOrder };
const uncommitted: ProducerDecision = { kind: "refuse", code: ErrorCode.TransientNotCommitted };

const sequenceAfter = (batch: { readonly sequence: number; readonly messagesCount: number }): number =>
  (batch.sequence + batch.messagesCount) % SEQUENCES;

/**
 * Idempotent producers of a partition: what each wrote last, and what the primary has ordered for it but not committed.
 * Only commits change the committed part, with the time of the prepare, so every replica forgets the same producers.
 */
export class ProducerTable {
  /** In order of the last commit: the first one is idle longest. */
  private readonly committed = new Map<bigint, Producer>();
  /** Ordered, uncommitted batches, oldest first. */
  private readonly pending: ProducerBatch[] = [];

  /** Decides about a batch before it gets an offset. `timestampMicros` is the time that its prepare would carry. */
  check(batch: ProducerBatch, timestampMicros: number): ProducerDecision {
    const known = this.known(batch.producerId, timestampMicros);
    const newest = this.newestPending(batch.producerId);
    const epoch = newest?.epoch ?? known?.epoch;
    if (epoch === undefined) return batch.sequence === 0 ? accept : unknown;
    if (batch.epoch < epoch) return fenced;
    if (batch.epoch > epoch) return batch.sequence === 0 ? accept : outOfOrder;
    if (known?.epoch === epoch) {
      const written = known.batches.find(
        (entry) => entry.sequence === batch.sequence && entry.messagesCount === batch.messagesCount,
      );
      if (written !== undefined) return { kind: "duplicate", batch: written };
    }
    if (this.isPending(batch)) return uncommitted;
    const last = newest ?? known?.batches.at(-1);
    return last !== undefined && sequenceAfter(last) === batch.sequence ? accept : outOfOrder;
  }

  /** The primary ordered an accepted batch. */
  ordered(batch: ProducerBatch): void {
    this.pending.push(batch);
  }

  /** Uncommitted operations of this node were given up, as a view change does. */
  dropPending(): void {
    this.pending.length = 0;
  }

  /** A batch committed. Batches of one group commit in the order in which they were ordered. */
  commit(batch: ProducerBatch, written: WrittenBatch, timestampMicros: number): void {
    if (this.pending[0]?.producerId === batch.producerId) this.pending.shift();
    this.forgetIdle(timestampMicros);
    const previous = this.committed.get(batch.producerId);
    const kept = previous?.epoch === batch.epoch ? previous.batches.slice(-(BATCHES_REMEMBERED - 1)) : [];
    this.committed.delete(batch.producerId);
    this.committed.set(batch.producerId, {
      epoch: batch.epoch,
      batches: [...kept, written],
      lastTimestampMicros: timestampMicros,
    });
    if (this.committed.size > PRODUCERS_MAX) {
      const [idleLongest] = this.committed.keys();
      if (idleLongest !== undefined) this.committed.delete(idleLongest);
    }
  }

  /** Committed state in the order of the last commit. */
  entries(): Iterable<readonly [bigint, Producer]> {
    return this.committed;
  }

  restore(entries: Iterable<readonly [bigint, Producer]>): void {
    this.committed.clear();
    for (const [id, producer] of entries) this.committed.set(id, producer);
  }

  private known(producerId: bigint, timestampMicros: number): Producer | undefined {
    const producer = this.committed.get(producerId);
    return producer === undefined || isIdle(producer, timestampMicros) ? undefined : producer;
  }

  private newestPending(producerId: bigint): ProducerBatch | undefined {
    return this.pending.findLast((entry) => entry.producerId === producerId);
  }

  private isPending(batch: ProducerBatch): boolean {
    return this.pending.some(
      (entry) =>
        entry.producerId === batch.producerId &&
        entry.epoch === batch.epoch &&
        entry.sequence === batch.sequence &&
        entry.messagesCount === batch.messagesCount,
    );
  }

  private forgetIdle(timestampMicros: number): void {
    for (const [id, producer] of this.committed) {
      if (!isIdle(producer, timestampMicros)) return;
      this.committed.delete(id);
    }
  }
}

const isIdle = (producer: Producer, timestampMicros: number): boolean =>
  timestampMicros - producer.lastTimestampMicros >= PRODUCER_IDLE_MICROS;
