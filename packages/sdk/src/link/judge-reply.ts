import {
  decodeResult,
  ErrorCode,
  isKnownOperation,
  isResultFramed,
  HEADER_SIZE,
  Operation,
  type ReplyHeader,
  requestOperation,
} from "@iggy/protocol";
import type { RequestFrame } from "./request-frame.js";

/** What a reply says. `proven` marks the final result of a committed operation. */
export type Judgement =
  | { readonly kind: "success"; readonly proven: boolean; readonly payload: Uint8Array }
  | { readonly kind: "refused"; readonly proven: boolean; readonly code: number }
  | { readonly kind: "malformed"; readonly why: string };

/** Refusals that never are the result of a commit, whatever the reply claims. */
const neverCommitted: ReadonlySet<number> = new Set([
  ErrorCode.TransientNotCommitted,
  ErrorCode.TransientNotAccepted,
  ErrorCode.NotPrimary,
  ErrorCode.DeferredPollCapacityExceeded,
]);

/**
 * Reads a reply against the request that it answers, in the order that all clients share: the status first, then the
 * result section, then the proof of the commit.
 */
export function judgeReply(header: ReplyHeader, frame: Uint8Array, request: RequestFrame): Judgement {
  const status = header.status;
  if (status !== 0) return { kind: "refused", proven: false, code: status };
  const operation = header.operation;
  if (!isKnownOperation(operation)) return malformed(`operation ${String(operation)} is unknown`);
  const body = frame.subarray(HEADER_SIZE);
  let code = 0;
  let payload = body;
  if (isFramed(operation, body)) {
    try {
      ({ code, payload } = decodeResult(body));
    } catch {
      return malformed("the result section is cut short");
    }
  }
  let proven = false;
  if (header.isCommitted) {
    const fault = proofFault(header, request);
    if (fault !== undefined) return malformed(fault);
    proven = !neverCommitted.has(code);
  }
  return code === 0 ? { kind: "success", proven, payload } : { kind: "refused", proven, code };
}

// A terminal refusal of a login is an eviction, so an empty reply is left to the login decoder, which refuses it.
const isFramed = (operation: number, body: Uint8Array): boolean =>
  operation === Operation.Register ? body.length > 0 : isResultFramed(operation);

function proofFault(header: ReplyHeader, request: RequestFrame): string | undefined {
  if (header.client !== request.client) return "a committed reply names another client";
  if (header.requestChecksum !== request.requestChecksum) return "a committed reply names another request";
  if (header.partitionIncarnationBig !== request.partitionIncarnation) {
    return "a committed reply names another partition history";
  }
  if (requestOperation(header.operation) !== request.operation) return "a committed reply names another operation";
  if (header.opBig === 0n || header.opBig !== header.commitBig) return "a committed reply names no commit";
  return undefined;
}

const malformed = (why: string): Judgement => ({ kind: "malformed", why });
