import {
  HEADER_SIZE,
  isKnownOperation,
  Operation,
  RequestHeader,
  writeCommittedReply,
  writeReplyEcho,
} from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import { letGo } from "../memory/let-go.js";
import type { CommandRequest } from "../dispatch/command-request.js";
import { type ConnectionFacts, factsOf } from "../node/connection-facts.js";
import type { CommittedReply, ReadReplyOptions } from "../request.js";
import type { ReplyStream } from "./channel.js";
import type { Connection, SessionBinding } from "./connection.js";
import { evictConnection } from "./evict.js";

/** Replies up to this size are sent as one piece: one small copy costs less than a second write. */
const JOIN_BYTES_MAX = 4096;

/**
 * A request frame of a connection and the one reply to it. Fields that identify the request are read once; the header
 * bytes stay referenced for the echo in the reply.
 */
export class RequestFrame implements CommandRequest {
  readonly connection: Connection;
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly partitionIncarnation: number;
  readonly ownerGeneration: number;
  readonly minimumMetadataOp: number;
  private frame: Uint8Array;
  private ownHeader: RequestHeader;
  private ownBody: Uint8Array;
  private holder: Memory | undefined;
  private readonly stream: ReplyStream;
  private answered = false;
  private isWaiting = false;

  /** `header` lies at the start of `frame`, which `memory` holds when it is pooled; the reply goes to `stream`. */
  constructor(
    connection: Connection,
    header: RequestHeader,
    frame: Uint8Array,
    binding: SessionBinding | undefined,
    memory: Memory | undefined,
    stream: ReplyStream,
  ) {
    this.connection = connection;
    this.stream = stream;
    this.ownHeader = header;
    this.frame = frame;
    this.ownBody = frame.subarray(HEADER_SIZE);
    this.holder = memory;
    memory?.retain();
    this.client = header.client;
    this.session = binding?.session ?? 0;
    this.userId = binding?.userId ?? 0;
    this.request = header.request;
    this.requestChecksum = header.requestChecksum;
    this.operation = header.operation;
    this.partitionIncarnation = header.partitionIncarnation;
    this.ownerGeneration = header.ownerGeneration;
    this.minimumMetadataOp = header.minimumMetadataOp;
    connection.beginRequest(this.ownBody.length);
  }

  get header(): RequestHeader {
    return this.ownHeader;
  }

  get body(): Uint8Array {
    return this.ownBody;
  }

  get memory(): Memory | undefined {
    return this.holder;
  }

  get isAnswered(): boolean {
    return this.answered;
  }

  get peer(): ConnectionFacts {
    return factsOf(this.connection);
  }

  ok(body: readonly Uint8Array[], options?: ReadReplyOptions): void {
    const partitionIncarnation = options?.partitionIncarnation;
    this.reply(
      body,
      (bytes, bodyLength) => writeReplyEcho(bytes, 0, this.header, { status: 0, bodyLength, partitionIncarnation }),
      options?.memory,
    );
  }

  /** Answers a read whose reply names a metadata position, as logins do. */
  okAt(body: readonly Uint8Array[], op: number, commit: number): void {
    this.reply(body, (bytes, bodyLength) =>
      writeReplyEcho(bytes, 0, this.header, { status: 0, bodyLength, op, commit }),
    );
  }

  deny(code: number): void {
    // Clients can't read a reply with an operation they don't know, so an unknown one is not echoed.
    const operation = isKnownOperation(this.operation) ? this.operation : Operation.NonReplicated;
    this.reply([], (bytes) => writeReplyEcho(bytes, 0, this.header, { status: code, bodyLength: 0, operation }));
  }

  committed(reply: CommittedReply): void {
    this.reply(reply.body, (bytes, bodyLength) =>
      writeCommittedReply(bytes, 0, {
        bodyLength,
        client: this.client,
        cluster: this.header.cluster,
        view: reply.view,
        op: reply.op,
        timestamp: reply.timestampMicros,
        operation: reply.operation,
        request: reply.request,
        requestChecksum: reply.requestChecksum,
        partitionIncarnation: reply.partitionIncarnation,
      }),
    );
  }

  /** Ends the request without a reply: the frame was answered by other means, or is never answered. */
  finish(): void {
    if (this.answered) return;
    this.answered = true;
    if (this.isWaiting) this.connection.removeWaiting(this.request);
    this.connection.endStream(this.stream);
    this.connection.finishRequest(this.body.length);
    this.letGo();
  }

  /** Ends the request together with its connection, for a reason that clients map to an error. */
  evict(reason: number): void {
    evictConnection(this.connection, this.client, reason, this.stream);
    this.finish();
  }

  onCancel(handler: (code: number) => void): void {
    if (this.answered) return;
    this.isWaiting = true;
    this.moveOut();
    this.connection.addWaiting(this.request, handler);
  }

  /** A read may wait for long: it must not keep a block of pooled memory, which is much larger than it is, from others. */
  private moveOut(): void {
    if (this.holder === undefined) return;
    this.frame = new Uint8Array(this.frame);
    this.ownHeader = new RequestHeader().at(this.frame, 0);
    this.ownBody = this.frame.subarray(HEADER_SIZE);
    this.letGo();
  }

  private letGo(): void {
    const { holder } = this;
    this.holder = undefined;
    holder?.release();
  }

  private reply(
    body: readonly Uint8Array[],
    writeHeader: (bytes: Uint8Array, bodyLength: number) => void,
    memory: readonly Memory[] = [],
  ): void {
    if (this.answered) throw new Error(`request ${this.request} was answered twice`);
    let bodyLength = 0;
    for (const piece of body) bodyLength += piece.length;
    if (bodyLength <= JOIN_BYTES_MAX) {
      const frame = Buffer.allocUnsafe(HEADER_SIZE + bodyLength);
      writeHeader(frame, bodyLength);
      let at = HEADER_SIZE;
      for (const piece of body) {
        frame.set(piece, at);
        at += piece.length;
      }
      this.connection.send([frame], [], this.stream);
      letGo(memory);
    } else {
      const header = Buffer.allocUnsafe(HEADER_SIZE);
      writeHeader(header, bodyLength);
      this.connection.send([header, ...body], memory, this.stream);
    }
    this.finish();
  }
}
