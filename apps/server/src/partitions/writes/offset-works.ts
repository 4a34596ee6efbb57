import type { Prepare, Proposal } from "@iggy/consensus";
import {
  type Applied,
  commitOnReadClient,
  encodeOffsetWrite,
  type OffsetKey,
  type PartitionMachine,
} from "@iggy/engine";
import { type AckLevel, encodeResult, Operation } from "@iggy/protocol";
import type { ClientRequest } from "../../request.js";
import { ClientWork, type WriteContext } from "./client-work.js";
import { answerWithoutOrdering } from "./committed-replies.js";
import { serverProposal } from "./server-work.js";
import type { Work } from "./write-pipeline.js";

/** A stored offset to set, or to delete. */
export class OffsetWork extends ClientWork {
  readonly key: OffsetKey;
  private readonly offset: number | undefined;
  private readonly ack: AckLevel;
  private isAnswered = false;

  constructor(
    context: WriteContext,
    request: ClientRequest,
    key: OffsetKey,
    offset: number | undefined,
    ack: AckLevel,
  ) {
    super(context, request);
    this.key = key;
    this.offset = offset;
    this.ack = ack;
  }

  admit(): Proposal | undefined {
    if (this.isFenced()) return undefined;
    const { machine } = this.context;
    const fence = machine.ownerFence(this.key, this.request, this.request.ownerGeneration);
    if (fence !== 0) {
      this.request.deny(fence);
      return undefined;
    }
    const admission =
      this.offset === undefined
        ? machine.admitDelete(this.request, this.key)
        : machine.admitStore(this.request, this.key, this.offset);
    if (answerWithoutOrdering(this.request, admission, this.answering)) return undefined;
    const ownerGeneration = this.key.kind === "consumer_group" ? (machine.owner(this.key.id)?.generation ?? 0) : 0;
    const write = { key: this.key, offset: this.offset, ownerGeneration };
    const operation = this.offset === undefined ? Operation.DeleteConsumerOffset : Operation.StoreConsumerOffset;
    return this.proposal(operation, encodeOffsetWrite(machine.facts, write, this.ack));
  }

  register(): void {
    const { machine, isSingle } = this.context;
    const isEarly = this.ack === "no_ack" && isSingle;
    machine.orderedOffset(this.request, this.key, this.offset, isEarly);
    if (!isEarly || this.isAnswered) return;
    this.isAnswered = true;
    this.request.ok([encodeResult(0)]);
  }

  override committed(prepare: Prepare, applied: Applied): void {
    if (!this.isAnswered) super.committed(prepare, applied);
  }

  override refuse(code: number): void {
    if (!this.isAnswered) super.refuse(code);
  }
}

/** The offset that a read stores. Nobody waits for it; a later read of this primary sees it at once. */
export class CommitOnReadWork implements Work {
  readonly isExclusive = false;
  readonly showsEarly = true;
  readonly key: OffsetKey;
  private readonly machine: PartitionMachine;
  private readonly offset: number;
  private readonly ownerGeneration: number;

  /** `ownerGeneration` is that of the owner that the read was bound to, so a store behind a new owner does nothing. */
  constructor(machine: PartitionMachine, key: OffsetKey, offset: number, ownerGeneration: number) {
    this.machine = machine;
    this.key = key;
    this.offset = offset;
    this.ownerGeneration = ownerGeneration;
  }

  admit(): Proposal | undefined {
    if (this.machine.isEnded) return undefined;
    const { key, offset, ownerGeneration } = this;
    const body = encodeOffsetWrite(this.machine.facts, { key, offset, ownerGeneration }, "no_ack");
    return serverProposal(this.machine, commitOnReadClient, Operation.StoreConsumerOffset, body);
  }

  register(): void {
    this.machine.orderedOffset({ client: commitOnReadClient, session: 0, request: 0 }, this.key, this.offset, true);
  }

  committed(): void {
    // The value shows since the read; nobody is told.
  }

  refuse(): void {
    // The reply has left. Without the store the messages are delivered again, as after a failover.
  }

  attach(): boolean {
    return false;
  }
}
