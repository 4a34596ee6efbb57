import { ErrorCode } from "@iggy/protocol";
import type { ClientRequest, CommittedReply, ReadReplyOptions } from "../../src/request.js";

export type Answer =
  | { readonly kind: "ok"; readonly body: Uint8Array; readonly options: ReadReplyOptions | undefined }
  | { readonly kind: "denied"; readonly code: number }
  | { readonly kind: "committed"; readonly reply: CommittedReply; readonly body: Uint8Array };

/** Who sends, under which fences. */
export interface Sender {
  readonly client?: bigint;
  readonly session?: number;
  readonly userId?: number;
  readonly request?: number;
  readonly requestChecksum?: bigint;
  readonly partitionIncarnation?: number;
  readonly ownerGeneration?: number;
  readonly body?: Uint8Array;
}

let nextRequest = 1;

/** A request that remembers its answer. A second answer is a fault of the server and fails the test. */
export class TestRequest implements ClientRequest {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly operation = 0;
  readonly partitionIncarnation: number;
  readonly ownerGeneration: number;
  readonly minimumMetadataOp = 0;
  readonly memory = undefined;
  readonly body: Uint8Array;
  readonly answered: Promise<Answer>;
  answer: Answer | undefined;
  /** Runs as the answer leaves, still within the server's call, as the end of a connection may. */
  onAnswer: () => void = () => undefined;
  private resolve: (answer: Answer) => void = () => undefined;
  private cancelHandler: ((code: number) => void) | undefined;

  constructor(sender: Sender, incarnation: number) {
    this.client = sender.client ?? 7n;
    this.session = sender.session ?? 70;
    this.userId = sender.userId ?? 1;
    this.request = sender.request ?? nextRequest++;
    this.requestChecksum = sender.requestChecksum ?? 0n;
    this.partitionIncarnation = sender.partitionIncarnation ?? incarnation;
    this.ownerGeneration = sender.ownerGeneration ?? 0;
    this.body = sender.body ?? new Uint8Array(100);
    this.answered = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  ok(body: readonly Uint8Array[], options?: ReadReplyOptions): void {
    this.settle({ kind: "ok", body: joined(body), options });
  }

  deny(code: number): void {
    this.settle({ kind: "denied", code });
  }

  committed(reply: CommittedReply): void {
    this.settle({ kind: "committed", reply, body: joined(reply.body) });
  }

  onCancel(handler: (code: number) => void): void {
    if (this.cancelHandler !== undefined) throw new Error("a second cancel handler");
    this.cancelHandler = handler;
  }

  cancel(): void {
    this.cancelHandler?.(ErrorCode.TransientNotAccepted);
  }

  private settle(answer: Answer): void {
    if (this.answer !== undefined) throw new Error(`request ${String(this.request)} was answered twice`);
    this.answer = answer;
    this.onAnswer();
    this.resolve(answer);
  }
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
