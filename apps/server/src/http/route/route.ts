import type { Caller } from "../commands/index.js";
import type { JsonObject, JsonValue, Shape } from "../json/index.js";
import type { Access, CallerAccess } from "./access.js";
import type { Answer, Outcome } from "./outcome.js";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/**
 * Where a route is served in a cluster: on the node that got it, on the metadata primary, on either as the query's
 * `consistency` says, or on the primary of the partition.
 */
export type Place = "here" | "primary" | "consistency" | "partition";

/** A request whose parts were read. */
export interface PublicRequest<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** `ip:port`. */
  readonly peerAddress: string;
  /** Aborted when the client goes away before its answer. */
  readonly signal: AbortSignal;
}

export interface RouteRequest<P, Q, B> extends PublicRequest<P, Q, B> {
  readonly caller: Caller;
}

interface Declaration<P, Q, B> {
  readonly method: Method;
  /** With parameters in braces, such as `/streams/{stream_id}`. */
  readonly path: string;
  /** The resource that it belongs to. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly place: Place;
  /** An object; its members are texts, as they come in the path, decoded. */
  readonly params?: Shape<P>;
  /** An object; its members are texts, as they come in the query, decoded. */
  readonly query?: Shape<Q>;
  readonly body?: Shape<B>;
  readonly answers: readonly Answer[];
}

/** The parts of a request as they came. */
export interface RawParts {
  readonly params: JsonObject;
  readonly query: JsonObject;
  readonly body: JsonValue | undefined;
  readonly peerAddress: string;
  readonly signal: AbortSignal;
}

/** One line of the table of routes. Paths, permissions, documents and tests follow from it. */
export interface Route extends Omit<Declaration<unknown, unknown, unknown>, "params" | "query" | "body"> {
  readonly access: Access;
  readonly params: Shape<unknown> | undefined;
  readonly query: Shape<unknown> | undefined;
  readonly body: Shape<unknown> | undefined;
  /** Successful answers show the view of the metadata group. */
  readonly showsView: boolean;
  /** Reads the parts, then serves. `caller` is there unless the route is public. */
  serve(parts: RawParts, caller: Caller | undefined): Promise<Outcome>;
}

/** A route that takes a credential. */
export function route<P = undefined, Q = undefined, B = undefined>(
  declaration: Declaration<P, Q, B> & {
    readonly access: CallerAccess;
    serve(request: RouteRequest<P, Q, B>): Promise<Outcome>;
  },
): Route {
  return {
    ...describe(declaration),
    access: declaration.access,
    showsView: true,
    serve: async (parts, caller) => {
      if (caller === undefined) throw new Error(`${declaration.path} was served without a caller`);
      return declaration.serve({ ...read(declaration, parts), caller });
    },
  };
}

/** A route that anybody may call. */
export function publicRoute<P = undefined, Q = undefined, B = undefined>(
  declaration: Declaration<P, Q, B> & {
    readonly showsView?: boolean;
    serve(request: PublicRequest<P, Q, B>): Promise<Outcome>;
  },
): Route {
  return {
    ...describe(declaration),
    access: { kind: "public" },
    showsView: declaration.showsView ?? false,
    serve: async (parts) => declaration.serve(read(declaration, parts)),
  };
}

const describe = <P, Q, B>(declaration: Declaration<P, Q, B>): Omit<Route, "access" | "showsView" | "serve"> => ({
  method: declaration.method,
  path: declaration.path,
  tag: declaration.tag,
  summary: declaration.summary,
  ...(declaration.description === undefined ? {} : { description: declaration.description }),
  place: declaration.place,
  params: declaration.params,
  query: declaration.query,
  body: declaration.body,
  answers: declaration.answers,
});

function read<P, Q, B>({ params, query, body }: Declaration<P, Q, B>, parts: RawParts): PublicRequest<P, Q, B> {
  return {
    params: part(params, parts.params),
    query: part(query, parts.query),
    body: part(body, parts.body),
    peerAddress: parts.peerAddress,
    signal: parts.signal,
  };
}

/** Where a route has no shape for a part, the part is undefined, and so is its type. */
function part<T>(shape: Shape<T> | undefined, value: JsonValue | undefined): T {
  return shape === undefined ? (undefined as T) : shape.read(value);
}
