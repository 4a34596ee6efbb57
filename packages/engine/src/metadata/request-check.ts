import { ErrorCode, EvictionReason, Operation } from "@iggy/protocol";
import { answersOperation } from "./apply/apply.js";
import type { Receipt } from "./state/session.js";
import type { MetadataState } from "./state/state.js";

export interface RequestIdentity {
  readonly client: bigint;
  readonly session: number;
  readonly request: number;
  /** Operation as the client sent it. */
  readonly operation: number;
}

/** A stored outcome: every field of the reply frame that the original request decided. */
export interface StoredReply extends Omit<Receipt, "payload"> {
  readonly payload: Uint8Array;
}

/** What to do with a metadata request of a client. */
export type RequestCheck =
  | { readonly kind: "new" }
  | { readonly kind: "replay"; readonly reply: StoredReply }
  /** Answer with this status; nothing is executed. */
  | { readonly kind: "deny"; readonly code: number }
  | { readonly kind: "evict"; readonly reason: number };

const deny = (code: number): RequestCheck => ({ kind: "deny", code });
const evict = (reason: number): RequestCheck => ({ kind: "evict", reason });

/**
 * Tells new requests from retries. A request that is still being ordered is not known here: the caller answers its
 * repetition with 57. Reads have no receipts and are not to be checked.
 */
export function checkRequest(state: MetadataState, identity: RequestIdentity): RequestCheck {
  const session = state.sessions.get(identity.client);
  if (session?.isLive !== true) return evict(EvictionReason.NoSession);
  if (identity.session < session.epoch) return evict(EvictionReason.SessionTooLow);
  if (identity.session > session.epoch) return deny(ErrorCode.InvalidSession);
  if (identity.request > session.watermark) return { kind: "new" };
  const receipt = session.receiptOf(identity.request);
  if (receipt === undefined) return deny(ErrorCode.RequestTooOld);
  // The number was used for something else: neither its reply nor a second execution would be right.
  if (!answersOperation(receipt.operation, identity.operation)) return deny(ErrorCode.InvalidCommand);
  return receipt.payload === undefined
    ? deny(ErrorCode.RequestAlreadyApplied)
    : { kind: "replay", reply: storedReply(receipt, receipt.payload) };
}

/** The text of a created token was in the first reply alone. */
function storedReply(receipt: Receipt, payload: Uint8Array): StoredReply {
  const isLostToken = receipt.operation === Operation.CreatePersonalAccessToken && receipt.code === 0;
  return { ...receipt, payload, code: isLostToken ? ErrorCode.PersonalAccessTokenAlreadyExists : receipt.code };
}
