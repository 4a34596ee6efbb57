import { decodeUtf8, ErrorCode, IggyError as ProtocolError, parseJson } from "@iggy/protocol";
import { aboutText } from "../calls/call-errors.js";
import { errorOf, HttpResponseError, type IggyError } from "../errors/index.js";
import type { HttpReply } from "./exchange.js";
import { Members } from "./members.js";

/** Characters of an answer that an error repeats. */
const maxReasonLength = 1000;

interface Refused {
  readonly command: { readonly name: string; readonly code: number };
  readonly about: Readonly<Record<string, unknown>>;
}

/** The error of a failure status: by the number of the body, else by the status, else `HttpResponseError`. */
export function refusalOfReply({ command, about }: Refused, reply: HttpReply): IggyError {
  const { status } = reply;
  const said = readRefusal(reply);
  const details = { commandCode: command.code, context: { ...about, status } };
  // Errors of the HTTP layer itself repeat the status as their number.
  const code = said.id === undefined || said.id === status ? statusCodes[status] : said.id;
  if (code === undefined) return new HttpResponseError(status, said.reason, details);
  return errorOf(code, `${command.name} failed: ${said.reason} (${String(code)})${aboutText(about)}`, details);
}

const statusCodes: Readonly<Record<number, number>> = {
  401: ErrorCode.Unauthenticated,
  403: ErrorCode.Unauthorized,
  404: ErrorCode.ResourceNotFound,
  408: ErrorCode.TransientNotAccepted,
  429: ErrorCode.TransientNotAccepted,
  502: ErrorCode.TransientNotCommitted,
  503: ErrorCode.TransientNotAccepted,
  504: ErrorCode.TransientNotCommitted,
};

function readRefusal({ body, status }: HttpReply): { readonly id: number | undefined; readonly reason: string } {
  const text = decodeUtf8(body) ?? "";
  const plain = text === "" ? `status ${String(status)}` : text.slice(0, maxReasonLength);
  if (!text.startsWith("{")) return { id: undefined, reason: plain };
  try {
    const json = new Members(parseJson(text));
    return { id: json.u32("id"), reason: json.text("reason").slice(0, maxReasonLength) };
  } catch (error) {
    // Something in between answered, in a form of its own.
    if (error instanceof ProtocolError) return { id: undefined, reason: plain };
    throw error;
  }
}
