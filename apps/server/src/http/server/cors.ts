import type { FastifyReply, FastifyRequest } from "fastify";
import type { ServerConfig } from "../../config/index.js";

type CorsConfig = ServerConfig["http"]["cors"];

const ANY = "*";

/** Cross-origin rules. Preflights are answered here; other requests get the fields that let a page read the answer. */
export class Cors {
  private readonly origins: ReadonlySet<string>;
  private readonly methods: string;
  private readonly requestHeaders: string;
  private readonly exposedHeaders: string;
  private readonly config: CorsConfig;

  constructor(config: CorsConfig) {
    this.config = config;
    this.origins = new Set(config.allowedOrigins.filter(isGiven));
    this.methods = config.allowedMethods.filter(isGiven).join(", ");
    this.requestHeaders = config.allowedHeaders.filter(isGiven).join(", ");
    this.exposedHeaders = config.exposedHeaders.filter(isGiven).join(", ");
  }

  /** True when the request was a preflight, which is answered then. */
  handle(request: FastifyRequest, reply: FastifyReply): boolean {
    const { origin } = request.headers;
    const isPreflight = request.method === "OPTIONS" && "access-control-request-method" in request.headers;
    if (origin === undefined) return false;
    if (!this.origins.has(ANY)) reply.header("vary", "Origin");
    if (this.isAllowed(origin)) {
      reply.header("access-control-allow-origin", this.origins.has(ANY) ? ANY : origin);
      if (this.config.allowCredentials) reply.header("access-control-allow-credentials", "true");
      if (isPreflight) this.allow(request, reply);
      else if (this.exposedHeaders !== "") reply.header("access-control-expose-headers", this.exposedHeaders);
    }
    // Without the fields a browser goes no further.
    if (isPreflight) void reply.code(204).send();
    return isPreflight;
  }

  private allow(request: FastifyRequest, reply: FastifyReply): void {
    reply.header("access-control-allow-methods", this.methods);
    reply.header("access-control-allow-headers", this.requestHeaders);
    const wantsPrivate = request.headers["access-control-request-private-network"] === "true";
    if (wantsPrivate && this.config.allowPrivateNetwork) reply.header("access-control-allow-private-network", "true");
  }

  private isAllowed(origin: string): boolean {
    return this.origins.has(ANY) || this.origins.has(origin);
  }
}

const isGiven = (text: string): boolean => text !== "";
