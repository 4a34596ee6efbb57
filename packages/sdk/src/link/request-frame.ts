import { writeRequestHeader, HEADER_SIZE } from "@iggy/protocol";

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
export class RequestFrame implements RequestIdentity {
  readonly client: bigint;
  readonly request: number;
  readonly session: bigint;
  readonly operation: number;
  readonly commandCode: number;
  readonly requestChecksum: bigint;
  readonly partitionIncarnation: bigint;
  readonly ownerGeneration: bigint;
  readonly minimumMetadataOp: bigint;
  readonly bodyLength: number;
  /** Header and body. */
  readonly bytes: Uint8Array;

  /** Takes a buffer with the body behind room for the header, and writes the header there. */
  constructor(identity: RequestIdentity, buffer: Uint8Array) {
    this.client = identity.client;
    this.request = identity.request;
    this.session = identity.session;
    this.operation = identity.operation;
    this.commandCode = identity.commandCode;
    this.requestChecksum = identity.requestChecksum;
    this.partitionIncarnation = identity.partitionIncarnation;
    this.ownerGeneration = identity.ownerGeneration;
    this.minimumMetadataOp = identity.minimumMetadataOp;
    this.bodyLength = buffer.length - HEADER_SIZE;
    this.bytes = buffer;
    writeRequestHeader(buffer, 0, this);
  }

  get size(): number {
    return this.bytes.length;
  }
}
