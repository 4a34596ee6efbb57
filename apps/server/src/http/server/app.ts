import type { IncomingMessage } from "node:http";
import fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerFactory } from "fastify";
import { ErrorCode, IggyError } from "@iggy/protocol";
import type { ServerConfig } from "../../config/index.js";
import type { Authenticator } from "../auth/index.js";
import type { Caller } from "../commands/index.js";
import { type JsonObject, type JsonValue, parseJsonBytes } from "../json/index.js";
import { HttpError, notFound, type Outcome, type Route } from "../route/index.js";
import { answer } from "./answer.js";
import { answerBadRequest } from "./bad-requests.js";
import { Cors } from "./cors.js";
import { readQuery } from "./query.js";
import { BodyReceiver } from "./receive-body.js";
import { refusalOf } from "./refusals.js";

declare module "fastify" {
  interface FastifyRequest {
    /** Who sends it; null on public routes. */
    caller: Caller | null;
  }
}

/** The longest path that a request may have: three characters for each byte of four names, and what is between. */
const PARAMETER_LENGTH_MAX = 8 * 1024;
/** Methods that Fastify knows: those that a path does not have are refused by name. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"];

export interface AppDeps {
  readonly config: Pick<ServerConfig["http"], "cors" | "maxRequestSizeBytes">;
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  readonly serverFactory: FastifyServerFactory;
  /** Learns of each request as it comes, preflights included. */
  readonly begun: () => void;
  /** Its answer is sent, or its connection gone. */
  readonly ended: () => void;
  /** The caller's session lives on. */
  readonly heard: (caller: Caller) => void;
  /** View of the metadata group. */
  readonly view: () => number;
  /** The node takes no requests any more. */
  readonly isDraining: () => boolean;
  readonly log: { error(fields: object, message: string): void };
}

/** The API: from the table of routes to a handler of requests. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { config, routes, log } = deps;
  const cors = config.cors.enabled ? new Cors(config.cors) : undefined;
  const app = fastify({
    logger: false,
    serverFactory: deps.serverFactory,
    bodyLimit: config.maxRequestSizeBytes,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: PARAMETER_LENGTH_MAX, querystringParser: readQuery },
    clientErrorHandler: answerBadRequest,
    frameworkErrors: (error, request, reply) => {
      void answer(request, reply, refusalOf(error).outcome);
    },
  });
  app.decorateRequest("caller", null);
  receiveBodies(app, config.maxRequestSizeBytes);
  app.addHook("onRequest", (request, reply, done) => {
    deps.begun();
    reply.raw.once("close", deps.ended);
    if (deps.isDraining()) {
      if (request.raw.httpVersionMajor === 1) reply.header("connection", "close");
      done(new IggyError(ErrorCode.TransientNotAccepted, "the server is stopping"));
    } else if (cors?.handle(request, reply) !== true) done();
  });
  app.setErrorHandler((error, request, reply) => {
    const { outcome, isUnexpected } = refusalOf(error);
    if (isUnexpected)
      log.error({ err: error, method: request.method, route: request.routeOptions.url }, "a request failed");
    return answer(request, reply, outcome);
  });
  app.setNotFoundHandler((request, reply) => {
    throw notFound(`there is nothing at ${request.method} ${reply.request.url.split("?")[0] ?? ""}`);
  });
  for (const route of routes) addRoute(app, route, deps);
  refuseOtherMethods(app, routes);
  return app;
}

/** Bodies are JSON, and nothing else. They are read as such by the route: Fastify would close a connection over a comma. */
function receiveBodies(app: FastifyInstance, sizeMax: number): void {
  const receiver = new BodyReceiver(sizeMax);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", (_request: FastifyRequest, message: IncomingMessage) =>
    receiver.receive(message),
  );
}

/** What a route with a body gets; a route without one does not look. */
const bodyOf = ({ body }: FastifyRequest, route: Route): JsonValue | undefined =>
  route.body !== undefined && Buffer.isBuffer(body) && body.length > 0 ? parseJsonBytes(body) : undefined;

function addRoute(app: FastifyInstance, route: Route, { authenticator, heard, view }: AppDeps): void {
  app.route({
    method: route.method,
    url: urlOf(route),
    onRequest: async (request) => {
      if (route.access.kind === "public") return;
      request.caller = await authenticator.caller(request.headers.authorization, peerOf(request));
      heard(request.caller);
    },
    handler: async (request, reply) => {
      const gone = new AbortController();
      reply.raw.once("close", () => gone.abort());
      const outcome: Outcome = await route.serve(
        {
          params: request.params as JsonObject,
          query: request.query as JsonObject,
          body: bodyOf(request, route),
          peerAddress: peerOf(request),
          signal: gone.signal,
        },
        request.caller ?? undefined,
      );
      if (route.showsView) reply.header("iggy-view", String(view()));
      return answer(request, reply, outcome);
    },
  });
}

/** `/streams/{stream_id}` in the words of the router. */
const urlOf = ({ path }: Route): string => path.replace(/\{(\w+)\}/g, ":$1");

function refuseOtherMethods(app: FastifyInstance, routes: readonly Route[]): void {
  const known = new Map<string, string[]>();
  for (const route of routes) {
    const methods = known.get(urlOf(route)) ?? [];
    known.set(urlOf(route), [...methods, route.method, ...(route.method === "GET" ? ["HEAD"] : [])]);
  }
  for (const [url, methods] of known) {
    app.route({
      method: METHODS.filter((method) => !methods.includes(method)),
      url,
      onRequest: (request, _reply, done) => {
        const reason = `${request.method} is no method of this path`;
        done(new HttpError(405, "method_not_allowed", reason, { allow: methods.join(", ") }));
      },
      handler: () => undefined,
    });
  }
}

/** `ip:port` of the connection. */
function peerOf({ socket }: FastifyRequest): string {
  const { remoteAddress = "", remotePort = 0 } = socket;
  return remoteAddress.includes(":") ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}
