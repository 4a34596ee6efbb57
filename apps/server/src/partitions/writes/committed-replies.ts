import type { Prepare } from "@iggy/consensus";
import { type Admission, type PartitionFacts, type Receipt, sendReply } from "@iggy/engine";
import { encodeResult, ErrorCode, Operation } from "@iggy/protocol";
import type { ClientRequest, CommittedReply } from "../../request.js";

/** Body of a committed write: confirmations of a send, else the result section. */
function bodyOf(facts: PartitionFacts, operation: number, code: number, baseOffset: number): Uint8Array {
  return operation === Operation.SendMessages ? sendReply(facts, baseOffset) : encodeResult(code);
}

/** Reply of a write that has just committed. */
export function committedReply(
  facts: PartitionFacts,
  prepare: Prepare,
  outcome: { readonly code: number; readonly baseOffset: number },
): CommittedReply {
  const { op, view, timestampMicros, operation, request, requestChecksum, partitionIncarnation } = prepare;
  const body = bodyOf(facts, operation, outcome.code, outcome.baseOffset);
  return { op, view, timestampMicros, operation, request, requestChecksum, partitionIncarnation, body: [body] };
}

/** The first reply again, with the checksum of the original request whatever the retry carries. */
function replayedReply(facts: PartitionFacts, receipt: Receipt): CommittedReply {
  const { op, view, timestampMicros, operation, request, requestChecksum, code, baseOffset } = receipt;
  return {
    op,
    view,
    timestampMicros,
    operation,
    request,
    requestChecksum,
    partitionIncarnation: facts.incarnation,
    body: [bodyOf(facts, operation, code, baseOffset)],
  };
}

export interface AnswerContext {
  readonly facts: PartitionFacts;
  readonly view: number;
  readonly timestampMicros: number;
  /** Lets the commit of the uncommitted write answer this request too. */
  attach(request: ClientRequest): boolean;
}

/** Answers a write that is not to be ordered. Gives true when there was an answer, false when it is to be ordered. */
export function answerWithoutOrdering(request: ClientRequest, admission: Admission, context: AnswerContext): boolean {
  switch (admission.kind) {
    case "accept":
      return false;
    case "replay":
      request.committed(replayedReply(context.facts, admission.receipt));
      return true;
    case "pending":
      if (!context.attach(request)) request.deny(ErrorCode.TransientNotCommitted);
      return true;
    case "duplicate": {
      // The batch is committed under another request number: this number is answered with that operation.
      const { op, baseOffset } = admission.batch;
      request.committed({
        op,
        view: context.view,
        timestampMicros: context.timestampMicros,
        operation: Operation.SendMessages,
        request: request.request,
        requestChecksum: request.requestChecksum,
        partitionIncarnation: context.facts.incarnation,
        body: [sendReply(context.facts, baseOffset)],
      });
      return true;
    }
    case "refuse":
      request.deny(admission.code);
      return true;
  }
}
