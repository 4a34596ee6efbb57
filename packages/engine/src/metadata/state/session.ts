import type { SessionEndReason } from "../effects.js";

/** Stored outcome of a request, replayed to a retry. */
export interface Receipt {
  readonly request: number;
  readonly requestChecksum: bigint;
  readonly op: number;
  readonly timestampMicros: number;
  /** Operation as the log holds it. */
  readonly operation: number;
  readonly view: number;
  readonly code: number;
  /** Absent once the budget of the session was needed for newer replies. */
  readonly payload: Uint8Array | undefined;
}

/** Replies kept of each session. */
export const RECEIPTS_PER_SESSION = 5;
/**
 * Payload bytes that older receipts of a session may take beside the newest. A client has one metadata operation in
 * flight, so only the newest is ever asked for; the reply of a create can take 100 kB, and there are many sessions.
 */
export const OLDER_RECEIPT_BYTES = 64 * 1024;

export interface SessionFields {
  readonly clientId: bigint;
  readonly epoch: number;
  readonly userId: number;
  readonly userCreatedAtMicros: number;
  readonly verifier: Uint8Array;
}

/** A logged-in identity: lives from its Register until it is retired everywhere. */
export class Session {
  readonly clientId: bigint;
  /** Op of its Register. */
  readonly epoch: number;
  readonly userId: number;
  readonly userCreatedAtMicros: number;
  /** SHA-256 of the bind secret. */
  readonly verifier: Uint8Array;
  /** Highest request number that was applied. */
  watermark = 0;
  /** Oldest first, at most five. */
  receipts: readonly Receipt[] = [];
  /** Set once it ended; the entry stays until every partition forgot the session. */
  ended: SessionEndReason | undefined;

  constructor(fields: SessionFields) {
    this.clientId = fields.clientId;
    this.epoch = fields.epoch;
    this.userId = fields.userId;
    this.userCreatedAtMicros = fields.userCreatedAtMicros;
    this.verifier = fields.verifier;
  }

  get isLive(): boolean {
    return this.ended === undefined;
  }

  receiptOf(request: number): Receipt | undefined {
    return this.receipts.find((receipt) => receipt.request === request);
  }

  record(receipt: Receipt): void {
    this.watermark = receipt.request;
    let budget = OLDER_RECEIPT_BYTES;
    const older = this.receipts.slice(-(RECEIPTS_PER_SESSION - 1)).reverse();
    const kept = older.map((entry) => {
      budget -= entry.payload?.length ?? 0;
      return budget >= 0 || entry.payload === undefined ? entry : { ...entry, payload: undefined };
    });
    this.receipts = [...kept.reverse(), receipt];
  }
}
