import { errorInfo, IggyError } from "@iggy/protocol";
import { SessionEvicted, SessionOwnedByOther } from "../commands/index.js";
import type { JsonObject } from "../json/index.js";
import type { Headers, Outcome } from "./outcome.js";

/** What the HTTP layer itself answers, with a status for a number. */
export class HttpError extends Error {
  readonly status: number;
  /** Machine code of the body. */
  readonly code: string;
  readonly headers: Headers;

  constructor(status: number, code: string, reason: string, headers: Headers = {}) {
    super(reason);
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** What a read looked for is not there. */
export const notFound = (reason: string): HttpError => new HttpError(404, "not_found", reason);

/** Refused before anything was taken, to be sent again. */
export const busy = (status: 429 | 503, code: string, reason: string): HttpError => new HttpError(status, code, reason);

/** The answer to a request that failed; undefined for an error that nobody foresaw. */
export function refusal(error: unknown): Outcome | undefined {
  if (error instanceof HttpError) {
    return outcome(
      error.status,
      { id: error.status, code: error.code, reason: error.message, field: null },
      error.headers,
    );
  }
  if (!(error instanceof IggyError)) return undefined;
  const { httpStatus, httpField } = errorInfo(error.code);
  const body = { id: error.code, code: error.codeName, reason: reasonOf(error), field: httpField };
  return outcome(statusOf(error) ?? httpStatus, body, {});
}

/** An error that says nothing of its own is told by its name and the sentence of the table. */
function reasonOf({ code, codeName, message }: IggyError): string {
  if (message !== errorInfo(code).text) return message;
  const words = codeName.replaceAll("_", " ");
  return words === message ? message : `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${message}`;
}

/** An ended session is no valid credential; the next request opens another one. */
function statusOf(error: IggyError): number | undefined {
  if (error instanceof SessionEvicted) return 401;
  return error instanceof SessionOwnedByOther ? 409 : undefined;
}

const outcome = (status: number, body: JsonObject, headers: Headers): Outcome => ({
  status,
  headers: status === 429 || status === 503 ? { "retry-after": "1", ...headers } : headers,
  content: { kind: "json", value: body },
});
