import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { stringifyJson } from "../json/index.js";
import type { Outcome } from "../route/index.js";
import { refusalOf } from "./refusals.js";

/** Answers what Node could not read as a request, and closes the connection. */
export function answerBadRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, content } = outcomeOf(error);
  const body = content.kind === "json" ? stringifyJson(content.value) : "";
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

function outcomeOf({ code }: { readonly code?: string }): Outcome {
  const statusCode = code === "HPE_HEADER_OVERFLOW" ? 431 : code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  return refusalOf(Object.assign(new Error("the request is no HTTP"), { statusCode })).outcome;
}
