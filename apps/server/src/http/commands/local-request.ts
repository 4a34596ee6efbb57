import { decodeResult, ErrorCode, evictionErrorCode, IggyError, isResultFramed } from "@iggy/protocol";
import type { CommandRequest } from "../../dispatch/command-request.js";
import { letGo } from "../../memory/let-go.js";
import type { ConnectionFacts } from "../../node/connection-facts.js";
import type { CommittedReply, ReadReplyOptions } from "../../request.js";
import { SessionEvicted } from "./session-evicted.js";

/** Where a partition request may be served; 0 says nothing about it. */
export interface Fences {
  readonly partitionIncarnation?: number;
  readonly ownerGeneration?: number;
  readonly minimumMetadataOp?: number;
}

export interface LocalRequestFacts {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly fences: Fences;
  readonly body: Uint8Array;
  readonly peer: ConnectionFacts;
}

/** A request that was made in this process. It is answered with a promise in place of a frame. */
export class LocalRequest implements CommandRequest {
  readonly facts: LocalRequestFacts;
  readonly memory = undefined;
  private readonly answer = deferred();
  private answered = false;
  private cancelWith: ((code: number) => void) | undefined;
  /** Code of a cancel that came before anybody could be told, 0 without one. */
  private cancelledWith = 0;

  constructor(facts: LocalRequestFacts) {
    this.facts = facts;
    // Whoever asked may have stopped to wait.
    this.payload.catch(() => undefined);
  }

  /** Payload of the answer, which is the receiver's own; rejects with an `IggyError`. */
  get payload(): Promise<Uint8Array> {
    return this.answer.promise;
  }

  get client(): bigint {
    return this.facts.client;
  }

  get session(): number {
    return this.facts.session;
  }

  get userId(): number {
    return this.facts.userId;
  }

  get request(): number {
    return this.facts.request;
  }

  get requestChecksum(): bigint {
    return this.facts.requestChecksum;
  }

  get operation(): number {
    return this.facts.operation;
  }

  get partitionIncarnation(): number {
    return this.facts.fences.partitionIncarnation ?? 0;
  }

  get ownerGeneration(): number {
    return this.facts.fences.ownerGeneration ?? 0;
  }

  get minimumMetadataOp(): number {
    return this.facts.fences.minimumMetadataOp ?? 0;
  }

  get body(): Uint8Array {
    return this.facts.body;
  }

  get peer(): ConnectionFacts {
    return this.facts.peer;
  }

  get isAnswered(): boolean {
    return this.answered;
  }

  ok(body: readonly Uint8Array[], options?: ReadReplyOptions): void {
    this.finish();
    const payload = joined(body);
    letGo(options?.memory ?? []);
    this.answer.resolve(payload);
  }

  deny(code: number): void {
    this.finish();
    // Its session ended while the request was under way.
    const isEvicted = code === ErrorCode.StaleClient;
    this.answer.reject(isEvicted ? new SessionEvicted(code) : new IggyError(code));
  }

  committed(reply: CommittedReply): void {
    this.finish();
    const body = joined(reply.body);
    const { code, payload } = isResultFramed(reply.operation) ? decodeResult(body) : { code: 0, payload: body };
    if (code === 0) this.answer.resolve(payload);
    else this.answer.reject(new IggyError(code));
  }

  evict(reason: number): void {
    this.finish();
    this.answer.reject(new SessionEvicted(evictionErrorCode(reason)));
  }

  onCancel(handler: (code: number) => void): void {
    if (this.answered) return;
    this.cancelWith = handler;
    if (this.cancelledWith === 0) return;
    queueMicrotask(() => this.cancelWith?.(this.cancelledWith));
  }

  /** The caller gives a read that waits up, or its session ended. What is ordered already runs to its end. */
  cancel(code: number): void {
    if (this.answered) return;
    this.cancelledWith = code;
    this.cancelWith?.(code);
  }

  private finish(): void {
    if (this.answered) throw new Error(`request ${this.request} was answered twice`);
    this.answered = true;
    this.cancelWith = undefined;
  }
}

function deferred(): {
  readonly promise: Promise<Uint8Array>;
  readonly resolve: (payload: Uint8Array) => void;
  readonly reject: (error: IggyError) => void;
} {
  let resolve: (payload: Uint8Array) => void = () => undefined;
  let reject: (error: IggyError) => void = () => undefined;
  const promise = new Promise<Uint8Array>((succeed, fail) => {
    resolve = succeed;
    reject = fail;
  });
  return { promise, resolve, reject };
}

/** A copy: what the planes hand out may lie in memory that is used again. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
