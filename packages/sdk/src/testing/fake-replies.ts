import {
  encodeResult,
  EvictionReason,
  type EvictionReasonName,
  HEADER_SIZE,
  isResultFramed,
  writeCommittedReply,
  writeEviction,
  writeReplyEcho,
} from "@iggy/protocol";
import type { FakeRequest } from "./fake-connection.js";

/** A reply that no commit stands behind. */
export function reply(
  { wire, header }: FakeRequest,
  body: Uint8Array = new Uint8Array(0),
  { status = 0, commit = 0 }: { readonly status?: number; readonly commit?: number } = {},
): void {
  const frame = new Uint8Array(HEADER_SIZE + body.length);
  writeReplyEcho(frame, 0, header, { bodyLength: body.length, status, commit });
  frame.set(body, HEADER_SIZE);
  wire.write(frame);
}

export const refuse = (request: FakeRequest, status: number): void => reply(request, new Uint8Array(0), { status });

/** The final result of a committed operation. `operation` is the one that the log holds. */
export function committedReply(
  { header }: FakeRequest,
  result: { readonly op: number; readonly timestampMicros: number; readonly operation: number },
  code: number,
  payload: Uint8Array,
): Uint8Array {
  const body = isResultFramed(result.operation) ? encodeResult(code, payload) : payload;
  const frame = new Uint8Array(HEADER_SIZE + body.length);
  writeCommittedReply(frame, 0, {
    bodyLength: body.length,
    client: header.client,
    requestChecksum: header.requestChecksum,
    op: result.op,
    timestamp: result.timestampMicros,
    request: header.request,
    operation: result.operation,
    partitionIncarnation: header.partitionIncarnation,
  });
  frame.set(body, HEADER_SIZE);
  return frame;
}

export function evict({ wire, header }: FakeRequest, reason: EvictionReasonName | number): void {
  const frame = new Uint8Array(HEADER_SIZE);
  writeEviction(frame, 0, {
    client: header.client,
    reason: typeof reason === "number" ? reason : EvictionReason[reason],
  });
  wire.write(frame);
  wire.end();
}
