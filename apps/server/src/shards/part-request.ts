import { ErrorCode } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import type { ClientRequest, ReadReplyOptions } from "../request.js";

/** What came of a part of a request. The receiver owns the memory. */
export type PartAnswer =
  | { readonly kind: "ok"; readonly pieces: readonly Uint8Array[]; readonly memory: readonly Memory[] }
  | { readonly kind: "denied"; readonly code: number };

/** A part of a client's request that a single shard serves: it speaks for the client, but answers whoever made it. */
export class PartRequest implements ClientRequest {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation: number;
  readonly partitionIncarnation: number;
  readonly ownerGeneration: number;
  readonly minimumMetadataOp: number;
  readonly body = new Uint8Array(0);
  readonly memory = undefined;
  readonly answer: Promise<PartAnswer>;
  private settle: (answer: PartAnswer) => void = () => undefined;
  private cancelWith: ((code: number) => void) | undefined;
  private cancelledWith = 0;

  constructor(whole: ClientRequest) {
    this.client = whole.client;
    this.session = whole.session;
    this.userId = whole.userId;
    this.request = whole.request;
    this.requestChecksum = whole.requestChecksum;
    this.operation = whole.operation;
    this.partitionIncarnation = whole.partitionIncarnation;
    this.ownerGeneration = whole.ownerGeneration;
    this.minimumMetadataOp = whole.minimumMetadataOp;
    this.answer = new Promise((resolve) => (this.settle = resolve));
  }

  ok(pieces: readonly Uint8Array[], options?: ReadReplyOptions): void {
    this.cancelWith = undefined;
    this.settle({ kind: "ok", pieces, memory: options?.memory ?? [] });
  }

  deny(code: number): void {
    this.cancelWith = undefined;
    this.settle({ kind: "denied", code });
  }

  committed(): void {
    this.deny(ErrorCode.Error);
  }

  onCancel(handler: (code: number) => void): void {
    this.cancelWith = handler;
    if (this.cancelledWith !== 0) queueMicrotask(() => this.cancelWith?.(this.cancelledWith));
  }

  cancel(code: number): void {
    this.cancelledWith = code;
    this.cancelWith?.(code);
  }
}
