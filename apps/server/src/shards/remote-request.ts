import type { Memory } from "@iggy/storage";
import type { ClientRequest, CommittedReply, ReadReplyOptions } from "../request.js";
import { lengthOf, type Outbox } from "./lanes/outbox.js";
import { REFERENCE_BYTES_MAX } from "./lanes/transfer.js";
import { ReplyKind } from "./messages/kinds.js";
import type { RequestFacts } from "./messages/partition-request.js";
import { REPLY_BYTES_MAX, writeCommitted } from "./messages/reply.js";

/** Marks a reply that echoes the incarnation of its request. */
export const ECHOED_INCARNATION = -1;

/** A request that another shard's connection carries. It is answered through the reply lane to that shard. */
export class RemoteRequest implements ClientRequest {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly partitionIncarnation: number;
  readonly ownerGeneration: number;
  readonly minimumMetadataOp: number;
  readonly body: Uint8Array;
  readonly token: number;
  private readonly replies: Outbox;
  private readonly answered: (request: RemoteRequest) => void;
  private holder: Memory | undefined;
  private cancelWith: ((code: number) => void) | undefined;
  /** Code of a cancel that came before anybody could be told, 0 without one. */
  private cancelledWith = 0;
  private isAnswered = false;

  /** Owns one reference of `memory`, which holds the body. `answered` runs before the reply leaves. */
  constructor(
    facts: RequestFacts,
    body: Uint8Array,
    memory: Memory | undefined,
    replies: Outbox,
    answered: (request: RemoteRequest) => void,
  ) {
    this.token = facts.token;
    this.client = facts.client;
    this.session = facts.session;
    this.userId = facts.userId;
    this.request = facts.request;
    this.requestChecksum = facts.requestChecksum;
    this.operation = facts.operation;
    this.partitionIncarnation = facts.partitionIncarnation;
    this.ownerGeneration = facts.ownerGeneration;
    this.minimumMetadataOp = facts.minimumMetadataOp;
    this.body = body;
    this.holder = memory;
    this.replies = replies;
    this.answered = answered;
  }

  get memory(): Memory | undefined {
    return this.holder;
  }

  ok(body: readonly Uint8Array[], options?: ReadReplyOptions): void {
    this.finish();
    const record = this.replies.begin(REPLY_BYTES_MAX + REFERENCE_BYTES_MAX, lengthOf(body));
    record.u8(ReplyKind.ok);
    record.u32(this.token);
    record.f64(options?.partitionIncarnation ?? ECHOED_INCARNATION);
    this.replies.body(record, body, options?.memory);
    this.replies.commit();
  }

  deny(code: number): void {
    this.finish();
    const record = this.replies.begin(REPLY_BYTES_MAX);
    record.u8(ReplyKind.deny);
    record.u32(this.token);
    record.u32(code);
    this.replies.commit();
  }

  committed(reply: CommittedReply): void {
    this.finish();
    const record = this.replies.begin(REPLY_BYTES_MAX + REFERENCE_BYTES_MAX);
    record.u8(ReplyKind.committed);
    record.u32(this.token);
    writeCommitted(record, reply);
    this.replies.body(record, reply.body);
    this.replies.commit();
  }

  onCancel(handler: (code: number) => void): void {
    this.cancelWith = handler;
    if (this.cancelledWith === 0) return;
    queueMicrotask(() => {
      this.cancelWith?.(this.cancelledWith);
    });
  }

  /** The client, its connection or its session gave the request up: a read that waits ends. */
  cancel(code: number): void {
    this.cancelledWith = code;
    this.cancelWith?.(code);
  }

  private finish(): void {
    if (this.isAnswered) throw new Error(`request ${this.request} was answered twice`);
    this.isAnswered = true;
    this.cancelWith = undefined;
    const { holder } = this;
    this.holder = undefined;
    holder?.release();
    this.answered(this);
  }
}
