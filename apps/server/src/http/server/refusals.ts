import { ErrorCode, IggyError } from "@iggy/protocol";
import { HttpError, type Outcome, refusal } from "../route/index.js";
import { bodyTooLarge } from "./receive-body.js";

/** What Fastify and Node say about requests that no route saw, in the words of the API. */
const byStatus: ReadonlyMap<number, (message: string) => Error> = new Map<number, (message: string) => Error>([
  [400, (message) => new IggyError(ErrorCode.InvalidCommand, message)],
  [408, () => new HttpError(408, "request_timeout", "the request took too long to arrive")],
  [413, () => bodyTooLarge()],
  [414, () => new HttpError(414, "uri_too_long", "the path is too long")],
  [415, () => new HttpError(415, "unsupported_media_type", "a body needs the content type application/json")],
  [431, () => new HttpError(431, "headers_too_large", "the header fields take too much")],
]);

const unexpected = (): Outcome => ({
  status: 500,
  headers: {},
  content: { kind: "json", value: { id: ErrorCode.Error, code: "error", reason: "an internal error", field: null } },
});

/** The answer to whatever went wrong. `isUnexpected` marks what belongs into the log. */
export function refusalOf(error: unknown): { readonly outcome: Outcome; readonly isUnexpected: boolean } {
  const known = refusal(error) ?? refusal(byStatus.get(statusOf(error) ?? 0)?.(messageOf(error)));
  return known === undefined ? { outcome: unexpected(), isUnexpected: true } : { outcome: known, isUnexpected: false };
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  return typeof error.statusCode === "number" ? error.statusCode : undefined;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
