import { ErrorCode, stringifyJson } from "@iggy/protocol";
import type { Scope } from "../calls/scope.js";
import { ValidationError } from "../errors/index.js";
import type { HttpRequest } from "./routes/index.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpReply {
  readonly status: number;
  readonly body: Uint8Array;
  readonly isJson: boolean;
}

/** One request came back, or did not. */
export type Exchange =
  | { readonly kind: "answered"; readonly reply: HttpReply }
  | { readonly kind: "failed"; readonly wasSent: boolean; readonly cause: unknown };

/** Sends one request and reads its answer, of which it takes `maxBytes`. Rejects with `ScopeEnded` when the call ends. */
export function exchange(
  fetch: Fetch,
  baseUrl: string,
  request: HttpRequest,
  token: string | undefined,
  maxBytes: number,
  scope: Scope,
): Promise<Exchange> {
  const url = baseUrl + request.path;
  const init: RequestInit = {
    method: request.method,
    headers: {
      accept: "application/json",
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    // A redirect could carry credentials elsewhere.
    redirect: "error",
    credentials: "omit",
    ...(request.body === undefined ? {} : { body: stringifyJson(request.body) }),
  };
  return scope.wait<Exchange>((resolve, reject) => {
    const abort = new AbortController();
    fetchReply(fetch, url, { ...init, signal: abort.signal }, maxBytes).then(resolve, reject);
    return () => abort.abort();
  });
}

async function fetchReply(fetch: Fetch, url: string, init: RequestInit, maxBytes: number): Promise<Exchange> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (cause) {
    return { kind: "failed", wasSent: !neverLeft(cause), cause };
  }
  let body: Uint8Array | undefined;
  try {
    body = await readBody(response, maxBytes);
  } catch (cause) {
    return { kind: "failed", wasSent: true, cause };
  }
  if (body === undefined) {
    throw new ValidationError(
      ErrorCode.InvalidSizeBytes,
      `the answer exceeds ${String(maxBytes)} bytes: ask for fewer bytes or messages`,
    );
  }
  const isJson = /^application\/json\b/i.test(response.headers.get("content-type") ?? "");
  return { kind: "answered", reply: { status: response.status, body, isJson } };
}

/** The body; undefined when it is larger than `maxBytes`. */
async function readBody(response: Response, maxBytes: number): Promise<Uint8Array | undefined> {
  if (response.body === null) return new Uint8Array(0);
  const reader = response.body.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    // The type of a body's chunks is open; `fetch` gives bytes, and nothing at the end.
    const { value } = (await reader.read()) as { readonly value?: Uint8Array };
    if (value === undefined) break;
    size += value.length;
    if (size > maxBytes) {
      await reader.cancel();
      return undefined;
    }
    pieces.push(value);
  }
  const [first] = pieces;
  if (pieces.length === 1 && first !== undefined) return first;
  const body = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    body.set(piece, at);
    at += piece.length;
  }
  return body;
}

/** Failures of Node.js before a request leaves. Browsers don't tell, so there every failure may have left. */
const unsentCodes: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EADDRNOTAVAIL",
  "UND_ERR_CONNECT_TIMEOUT",
]);

function neverLeft(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < 4 && typeof current === "object" && current !== null; depth++) {
    if ("code" in current && unsentCodes.has(current.code)) return true;
    current = "cause" in current ? current.cause : undefined;
  }
  return false;
}
