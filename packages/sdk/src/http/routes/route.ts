import {
  type Command,
  ErrorCode,
  type Identifier,
  type JsonValue,
  parseIdentifier,
  type PartitionContext,
} from "@iggy/protocol";
import { ValidationError } from "../../errors/index.js";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** What a request asks, without its credential. */
export interface HttpRequest {
  readonly method: Method;
  /** Path and query, encoded. */
  readonly path: string;
  readonly body?: JsonValue;
}

/** The body of an answer: JSON, or bytes of another type. Empty answers are null. */
export interface HttpBody {
  readonly json: JsonValue;
  readonly bytes: Uint8Array;
}

/** How a command goes over HTTP: its request, and the reply of the binary command in the answer. */
export interface HttpRoute<Req, Res> {
  request(request: Req, context?: PartitionContext): HttpRequest;
  reply(body: HttpBody): Res;
  /** The reply when the answer is 404. */
  readonly absent?: Res;
}

/** Routes by command. */
export class HttpRoutes {
  readonly #routes = new Map<number, unknown>();

  add<Req, Res>(command: Command<Req, Res>, route: HttpRoute<Req, Res>): this {
    this.#routes.set(command.code, route);
    return this;
  }

  find<Req, Res>(command: Command<Req, Res>): HttpRoute<Req, Res> | undefined {
    // `add` stores under the code of a command only what has the types of that command.
    return this.#routes.get(command.code) as HttpRoute<Req, Res> | undefined;
  }
}

/** The reply of a command that answers nothing. */
export const nothing = (): Readonly<Record<string, never>> => ({});

/** A segment of a path; every byte but letters and digits is encoded. */
export function segment(text: string): string {
  if (text === "." || text === "..") {
    // URL parsers take the encoded form for the step in a path, too, and would ask for something else.
    throw new ValidationError(
      ErrorCode.InvalidIdentifier,
      `no path reaches the name ${JSON.stringify(text)}: use its id over HTTP`,
    );
  }
  return encoded(text);
}

/** A resource in a path. Servers read text of digits as an id, so such a name would reach another resource. */
export function idSegment(id: Identifier): string {
  if (id.kind === "numeric") return String(id.value);
  checkName(id.value);
  return segment(id.value);
}

/** The same in a query or a body. */
export function idText(id: Identifier): string {
  if (id.kind === "string") checkName(id.value);
  return String(id.value);
}

function checkName(name: string): void {
  if (parseIdentifier(name).kind === "string") return;
  throw new ValidationError(
    ErrorCode.InvalidIdentifier,
    `over HTTP the name ${JSON.stringify(name)} reads as an id: use the id of the resource`,
  );
}

export function query(entries: Readonly<Record<string, string | number | bigint | boolean | undefined>>): string {
  const parts = Object.entries(entries).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encoded(String(value))}`],
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[-_.!~*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

export const streamPath = (streamId: Identifier): string => `/streams/${idSegment(streamId)}`;

export const topicPath = (streamId: Identifier, topicId: Identifier): string =>
  `${streamPath(streamId)}/topics/${idSegment(topicId)}`;
