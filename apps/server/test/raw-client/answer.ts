import {
  decodeResult,
  EvictionHeader,
  FrameCommand,
  HEADER_SIZE,
  isKnownOperation,
  isResultFramed,
  Operation,
  ReplyHeader,
  validateEvictionHeader,
} from "@iggy/protocol";

/** What came back for a request, read by the rules of a client. */
export type Answer =
  | { readonly kind: "ok"; readonly header: ReplyHeader; readonly payload: Uint8Array }
  | {
      readonly kind: "refused";
      readonly code: number;
      /** Refused before commit (`status`), or by the committed operation (`result`). */
      readonly channel: "status" | "result";
      readonly header: ReplyHeader;
    }
  | { readonly kind: "evicted"; readonly reason: number; readonly header: EvictionHeader }
  | { readonly kind: "closed" };

/** A frame that breaks the rules of a client throws: no test may take it for an answer. */
export function readAnswer(frame: Uint8Array): Answer {
  const command = new ReplyHeader().at(frame, 0).command;
  if (command === FrameCommand.Eviction) return readEviction(frame);
  if (command !== FrameCommand.Reply) throw new Error(`a server does not send frames of command ${command}`);
  const header = new ReplyHeader().at(frame, 0);
  const body = frame.subarray(HEADER_SIZE);
  if (header.status !== 0) {
    if (body.length > 0) throw new Error(`a refusal (${header.status}) has a body of ${body.length} bytes`);
    return { kind: "refused", code: header.status, channel: "status", header };
  }
  const { operation } = header;
  if (!isKnownOperation(operation)) throw new Error(`a reply names operation ${operation}`);
  if (!isResultFramed(operation) && operation !== Operation.Register) return { kind: "ok", header, payload: body };
  const { code, payload } = decodeResult(body);
  return code === 0 ? { kind: "ok", header, payload } : { kind: "refused", code, channel: "result", header };
}

function readEviction(frame: Uint8Array): Answer {
  const header = new EvictionHeader().at(frame, 0);
  const fault = validateEvictionHeader(header);
  if (fault !== undefined) throw fault;
  return { kind: "evicted", reason: header.reason, header };
}

/** `ok`, `status 3`, `result 1009`, `eviction 15` or `closed`: the outcome in the words of the tests' tables. */
export function outcome(answer: Answer): string {
  switch (answer.kind) {
    case "ok":
      return "ok";
    case "refused":
      return `${answer.channel} ${answer.code}`;
    case "evicted":
      return `eviction ${answer.reason}`;
    case "closed":
      return "closed";
  }
}
