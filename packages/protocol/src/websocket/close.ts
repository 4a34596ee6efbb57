import { WebSocketCloseCode } from "./codes.js";
import { WebSocketError } from "./websocket-error.js";

/** What a Close frame says; code 1005 stands for none. */
export interface WebSocketClose {
  readonly code: number;
  readonly reason: string;
}

const NO_CODE = 1005;
const REASON_BYTES_MAX = 123;

const encoder = new TextEncoder();

/** Payload of a Close frame: code, big-endian, and at most 123 bytes of a reason in UTF-8. */
export function writeWebSocketClose(code: number, reason = ""): Uint8Array {
  const payload = new Uint8Array(2 + REASON_BYTES_MAX);
  payload[0] = code >>> 8;
  payload[1] = code & 0xff;
  const { written } = encoder.encodeInto(reason, payload.subarray(2));
  return payload.subarray(0, 2 + written);
}

/** Reads the payload of a Close frame. Throws a WebSocketError for one that the RFC does not allow. */
export function readWebSocketClose(payload: Uint8Array): WebSocketClose {
  if (payload.length === 0) return { code: NO_CODE, reason: "" };
  const code = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
  if (payload.length === 1 || !isSendable(code)) {
    throw new WebSocketError(WebSocketCloseCode.protocolError, "a Close frame with a code that must not be sent");
  }
  try {
    return { code, reason: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload.subarray(2)) };
  } catch {
    throw new WebSocketError(WebSocketCloseCode.invalidPayload, "the reason of a Close frame is no UTF-8");
  }
}

/** RFC 6455, 7.4: registered codes, without those that only stand for something locally; libraries and applications. */
const isSendable = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && code !== 1004 && code !== NO_CODE && code !== 1006) ||
  (code >= 3000 && code <= 4999);
