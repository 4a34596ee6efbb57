import { buildRequestHeader, HEADER_SIZE } from "@iggy/protocol";

/** What a request says about itself, beside its body. */
export interface RequestIdentity {
  readonly client: bigint;
  /** Number of the request; 0 without a session. */
  readonly request: number;
  readonly session: bigint;
  readonly operation: number;
  /** Code of a command that is not replicated, else 0. */
  readonly commandCode: number;
  /** Random identifier of session and metadata requests, else 0. */
  readonly requestChecksum: bigint;
  readonly partitionIncarnation: bigint;
  readonly ownerGeneration: bigint;
  readonly minimumMetadataOp: bigint;
}

/** A request ready for the wire. A retry sends the same object again, so it can not differ. */
export interface RequestFrame extends RequestIdentity {
  /** Header and body, in order. */
  readonly pieces: readonly Uint8Array[];
  /** Size of the frame in bytes. */
  readonly size: number;
}

export function requestFrame(identity: RequestIdentity, body: readonly Uint8Array[]): RequestFrame {
  const bodyLength = body.reduce((sum, piece) => sum + piece.length, 0);
  const header = buildRequestHeader(identity, bodyLength);
  const filled = body.filter((piece) => piece.length > 0);
  return { ...identity, pieces: [header, ...filled], size: HEADER_SIZE + bodyLength };
}

/** Same request, another body: a waiting read shortens its waits on every retry. */
export function withBody(frame: RequestFrame, body: readonly Uint8Array[]): RequestFrame {
  return requestFrame(frame, body);
}
