import { ErrorCode, IggyError } from "../errors/index.js";
import { MAX_PRODUCER_SEQUENCE } from "./limits.js";

/** What an idempotent producer writes into a batch: who sends it, and the number of its first message. */
export interface ProducerSection {
  /** 0 to 2^63 - 1; 0 is legal. */
  readonly id: bigint;
  /** 0 to 32767: raised when the producer starts its numbers over. */
  readonly epoch: number;
  /** 0 to 2^31 - 1: number of the first message, counted per producer and partition. */
  readonly baseSequence: number;
}

const INDEX_BITS = 20n;
const SESSION_BITS = 43n;

/**
 * Producer id number `index` of a session: unique without asking the server. `Unauthenticated` (40) for session 0,
 * `ProducerIdsExhausted` (91) after 2^20 ids of one session or from session 2^43 on.
 */
export function producerIdOf(session: bigint, index: number): bigint {
  if (session === 0n) throw new IggyError(ErrorCode.Unauthenticated, "a producer id needs a session: sign in first");
  if (session >> SESSION_BITS !== 0n || index >= 2 ** Number(INDEX_BITS)) {
    throw new IggyError(
      ErrorCode.ProducerIdsExhausted,
      `session ${String(session)} has no producer id ${String(index)}: sign in again`,
    );
  }
  return (session << INDEX_BITS) | BigInt(index);
}

/** Sequence `count` messages after `sequence`; wraps from 2147483647 to 0. */
export function advanceSequence(sequence: number, count: number): number {
  return (sequence + count) % (MAX_PRODUCER_SEQUENCE + 1);
}

/** Sequence of the last of `count` messages from `baseSequence` on; `baseSequence` itself for none. */
export function lastSequence(baseSequence: number, count: number): number {
  return advanceSequence(baseSequence, Math.max(count - 1, 0));
}
