import { BatchView, decodeRequest, encodeResponse, MessageCursor, sendMessages } from "@iggy/protocol";
import { ScriptedBroker } from "./scripted-broker.js";
import type { Received } from "./scripted-node.js";

/** What an idempotent producer said of a batch. */
export interface SeenSection {
  readonly partitionId: number;
  readonly id: bigint;
  readonly epoch: number;
  readonly baseSequence: number;
  readonly count: number;
}

interface StoredBatch {
  readonly baseSequence: number;
  readonly count: number;
  readonly baseOffset: number;
}

interface ProducerState {
  epoch: number;
  batches: StoredBatch[];
}

const batchesRemembered = 5;

/** A broker that keeps numbers of producers as servers do, and the replies of requests that come again. */
export class ProducerLedger extends ScriptedBroker {
  /** Every batch with a producer that arrived. */
  readonly sections: SeenSection[] = [];
  /** Codes of those that were refused. */
  readonly refused: number[] = [];
  readonly #producers = new Map<string, ProducerState>();
  readonly #texts: string[][];
  readonly #replies = new Map<string, Uint8Array>();
  #refusals: number[] = [];

  constructor(partitionsCount: number) {
    super(partitionsCount);
    this.#texts = Array.from({ length: partitionsCount }, () => []);
  }

  /** Payloads of a partition, in order. */
  textsOf(partitionId: number): readonly string[] {
    return this.#texts[partitionId] ?? [];
  }

  partitionOf({ body }: Received): number {
    const { partitioning } = decodeRequest(sendMessages, body);
    return partitioning.kind === "partition_id" ? partitioning.partitionId : -1;
  }

  /** As after a day without a batch. */
  forgetProducers(): void {
    this.#producers.clear();
  }

  /** Refuses the next send with a code. */
  refuseNext(code: number): void {
    this.#refusals.push(code);
  }

  override serve(received: Received): void {
    if (received.code !== sendMessages.code) {
      super.serve(received);
      return;
    }
    const outcome = this.#store(received);
    if (typeof outcome === "number") this.refuse(received, outcome);
    else this.commit(received, outcome);
  }

  /** Stores a send and says nothing. */
  serveSilently(received: Received): void {
    this.#store(received);
  }

  /** The reply, or the code of the refusal. */
  #store(received: Received): Uint8Array | number {
    const { header, body, request } = received;
    const same = `${String(header.client)}/${String(header.session)}/${String(request)}`;
    const known = this.#replies.get(same);
    if (known !== undefined) return known;
    const refusal = this.#refusals.shift();
    if (refusal !== undefined) return refusal;
    const { batch } = decodeRequest(sendMessages, body);
    const partitionId = this.partitionOf(received);
    const texts = this.#texts[partitionId];
    if (texts === undefined) return 3007;
    const placed = this.#place(partitionId, batch, texts.length);
    if (placed.kind === "refused") {
      this.refused.push(placed.code);
      return placed.code;
    }
    if (placed.isNew) {
      const cursor = new MessageCursor().records(batch);
      while (cursor.next()) texts.push(new TextDecoder().decode(cursor.payload));
    }
    const confirmation = { streamId: 1, topicId: 1, partitionId, baseOffset: BigInt(placed.baseOffset) };
    const reply = encodeResponse(sendMessages, { confirmations: [confirmation] });
    this.#replies.set(same, reply);
    return reply;
  }

  #place(
    partitionId: number,
    batch: Uint8Array,
    nextOffset: number,
  ):
    | { readonly kind: "placed"; readonly isNew: boolean; readonly baseOffset: number }
    | { readonly kind: "refused"; readonly code: number } {
    const view = new BatchView().at(batch);
    const producer = view.producer();
    const count = view.messageCount;
    if (producer === null) return { kind: "placed", isNew: true, baseOffset: nextOffset };
    const { id, epoch, baseSequence } = producer;
    this.sections.push({ partitionId, id, epoch, baseSequence, count });
    const key = `${String(partitionId)}/${String(id)}`;
    const state = this.#producers.get(key);
    const stored = { baseSequence, count, baseOffset: nextOffset };
    if (state === undefined || epoch > state.epoch) {
      if (baseSequence !== 0) return { kind: "refused", code: state === undefined ? 94 : 92 };
      this.#producers.set(key, { epoch, batches: [stored] });
      return { kind: "placed", isNew: true, baseOffset: nextOffset };
    }
    if (epoch < state.epoch) return { kind: "refused", code: 93 };
    const same = state.batches.find((other) => other.baseSequence === baseSequence && other.count === count);
    if (same !== undefined) return { kind: "placed", isNew: false, baseOffset: same.baseOffset };
    const last = state.batches.at(-1);
    if (last === undefined || baseSequence !== last.baseSequence + last.count) return { kind: "refused", code: 92 };
    state.batches = [...state.batches, stored].slice(-batchesRemembered);
    return { kind: "placed", isNew: true, baseOffset: nextOffset };
  }
}
