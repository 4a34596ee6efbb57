import type { Prepare, Proposal, Replica } from "@iggy/consensus";
import type { Applied, PartitionMachine } from "@iggy/engine";
import type { ClientRequest } from "../../request.js";
import type { BatchHashing } from "../environment.js";
import type { PartitionCipher } from "../partition-cipher.js";
import { type AnswerContext, committedReply } from "./committed-replies.js";
import type { Work } from "./write-pipeline.js";

/** What a write needs of its partition. */
export interface WriteContext {
  readonly machine: PartitionMachine;
  readonly replica: Replica;
  readonly cipher: PartitionCipher | undefined;
  readonly hashing: BatchHashing;
  /** One replica holds the partition: an offset write without acknowledgement answers before the journal is synced. */
  readonly isSingle: boolean;
  attach(request: ClientRequest): boolean;
}

/** Requests that resend an uncommitted write and wait for it; more are told that its outcome is unknown. */
const WAITERS_MAX = 8;

/** A write of a client: keeps whom to answer. */
export abstract class ClientWork implements Work {
  readonly isExclusive = false;
  readonly showsEarly = false;
  protected readonly context: WriteContext;
  protected readonly request: ClientRequest;
  private resends: ClientRequest[] | undefined;

  constructor(context: WriteContext, request: ClientRequest) {
    this.context = context;
    this.request = request;
  }

  abstract admit(timestampMicros: number): Proposal | undefined;
  abstract register(): void;

  committed(prepare: Prepare, applied: Applied): void {
    const reply = committedReply(this.context.machine.facts, prepare, applied);
    this.request.committed(reply);
    if (this.resends !== undefined) for (const request of this.resends) request.committed(reply);
  }

  refuse(code: number): void {
    this.request.deny(code);
    if (this.resends !== undefined) for (const request of this.resends) request.deny(code);
  }

  isFrom(client: bigint, session: number): boolean {
    return this.request.client === client && this.request.session === session;
  }

  attach(request: ClientRequest): boolean {
    if (request.request !== this.request.request || !this.isFrom(request.client, request.session)) return false;
    this.resends ??= [];
    if (this.resends.length >= WAITERS_MAX) return false;
    this.resends.push(request);
    return true;
  }

  /** The history may have ended while the request was queued. */
  protected isFenced(): boolean {
    const code = this.context.machine.historyFence(this.request.partitionIncarnation);
    if (code !== 0) this.request.deny(code);
    return code !== 0;
  }

  protected proposal(operation: number, body: Uint8Array): Proposal {
    const { client, session, request, requestChecksum, userId, partitionIncarnation } = this.request;
    return { operation, client, session, request, requestChecksum, userId, partitionIncarnation, body };
  }

  protected get answering(): AnswerContext {
    const { machine, replica } = this.context;
    return {
      facts: machine.facts,
      view: replica.view,
      timestampMicros: machine.timestampMicros,
      attach: (request: ClientRequest) => this.context.attach(request),
    };
  }
}
