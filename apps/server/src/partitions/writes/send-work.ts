import type { Proposal } from "@iggy/consensus";
import type { BatchFacts } from "@iggy/engine";
import { Operation } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import type { ClientRequest } from "../../request.js";
import { ClientWork, type WriteContext } from "./client-work.js";
import { answerWithoutOrdering } from "./committed-replies.js";
import { detachedFromLargeBuffer, isWasteful } from "./incoming-batch.js";

/** A batch to append. */
export class SendWork extends ClientWork {
  private readonly batch: Uint8Array;
  private readonly facts: BatchFacts;
  private readonly partitionNamed: boolean;
  memory: Memory | undefined;

  constructor(
    context: WriteContext,
    request: ClientRequest,
    batch: Uint8Array,
    facts: BatchFacts,
    partitionNamed: boolean,
  ) {
    super(context, request);
    this.batch = batch;
    this.facts = facts;
    this.partitionNamed = partitionNamed;
  }

  admit(timestampMicros: number): Proposal | undefined {
    if (this.isFenced()) return undefined;
    const { machine, cipher, hashing } = this.context;
    const admission = machine.admitSend(this.request, this.facts, this.partitionNamed, timestampMicros);
    if (answerWithoutOrdering(this.request, admission, this.answering)) return undefined;
    const batch = cipher === undefined ? this.storable() : cipher.sealBatch(this.batch);
    if (typeof batch === "number") {
      this.request.deny(batch);
      return undefined;
    }
    hashing.stampBatch(batch, 0, {
      partitionId: machine.facts.partitionId,
      baseOffset: machine.assignableOffset,
      baseTimestamp: timestampMicros,
    });
    return this.proposal(Operation.SendMessages, batch);
  }

  /** The batch where it was received, or a copy when keeping it would keep too much else. */
  private storable(): Uint8Array {
    const { memory } = this.request;
    if (memory === undefined) return detachedFromLargeBuffer(this.batch);
    if (isWasteful(this.batch.length, memory.bytes.length)) return new Uint8Array(this.batch);
    this.memory = memory;
    return this.batch;
  }

  register(): void {
    this.context.machine.orderedSend(this.request, this.facts);
  }
}
