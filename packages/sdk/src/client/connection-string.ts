import {
  type ConnectionOptions,
  type ConnectionTransport,
  ErrorCode,
  IggyError as ProtocolError,
  parseConnectionString as parse,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { endpointText } from "../transport/index.js";
import type { ClientConfig, ReconnectConfig, TlsConfig, TransportName } from "./config.js";
import { settingsOf } from "./settings.js";

/**
 * The configuration of a connection string, `scheme://credentials@host:port[?key=value&…]`. Credentials are taken as they
 * stand; those with a character of the grammar are given in the options object instead.
 * Errors: `InvalidConnectionString` (8000), `InvalidNumberValue` (84). They hold no part of the credentials.
 */
export function parseConnectionString(text: string): ClientConfig {
  if (typeof text !== "string") throw new TypeError("a connection string is a string");
  const { transport, credentials, host, port, options } = parsed(text);
  const { noDelay } = options;
  return {
    transport: transportOf(transport, options.tls === true),
    options: { host, port, ...(noDelay === undefined ? {} : { noDelay }) },
    credentials:
      credentials.kind === "token"
        ? { token: credentials.token }
        : { username: credentials.username, password: credentials.password },
    ...optional("heartbeatInterval", options.heartbeatIntervalMs),
    reconnect: reconnectOf(options),
    pendingOperations: {
      ...optional("maxOperations", options.maxPendingOperations),
      ...optional("maxBytes", options.maxPendingOperationBytes),
    },
    ...optional("tls", tlsOf(transport, options)),
    ...optional("maxResponseFrameSize", options.responseBufferSize ?? options.maxFrameSize ?? options.maxMessageSize),
  };
}

function parsed(text: string): ReturnType<typeof parse> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // The cause stays out: nobody checks that it holds no part of the text.
    throw new ValidationError(error.code, error.message);
  }
}

function transportOf(transport: ConnectionTransport, tls: boolean): TransportName {
  switch (transport) {
    case "tcp":
      return tls ? "TLS" : "TCP";
    case "websocket":
      return tls ? "WSS" : "WS";
    case "quic":
      return "QUIC";
    case "http":
      return "HTTP";
  }
}

function reconnectOf(options: ConnectionOptions): ReconnectConfig {
  const { reconnectionRetries } = options;
  return {
    ...optional("interval", options.reconnectionIntervalMs),
    ...optional("maxRetries", reconnectionRetries === "unlimited" ? Infinity : reconnectionRetries),
    ...optional("reestablishAfter", options.reestablishAfterMs),
  };
}

function tlsOf(transport: ConnectionTransport, options: ConnectionOptions): TlsConfig | undefined {
  const { tlsDomain, tlsCaFile, validateCertificate } = options;
  if (options.tls !== true && transport !== "quic") return undefined;
  return {
    ...optional("servername", tlsDomain === "" ? undefined : tlsDomain),
    ...optional("caFile", tlsCaFile),
    // TCP strings always validate; the others do when they say so.
    rejectUnauthorized: transport === "tcp" || validateCertificate === true,
  };
}

const optional = <Key extends string, Value>(key: Key, value: Value | undefined) =>
  (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: Value };

const schemes: Readonly<Record<TransportName, string>> = {
  TCP: "iggy+tcp",
  TLS: "iggy+tcp",
  WS: "iggy+ws",
  WSS: "iggy+ws",
  QUIC: "iggy+quic",
  HTTP: "iggy+http",
  HTTPS: "iggy+http",
};

/** Characters of the grammar that credentials in a string can not hold. */
const reserved = /[@:/?]/;

/** The connection string of a configuration. Credentials are left out unless `redact` is false. */
export function formatConnectionString(
  config: ClientConfig,
  { redact = true }: { readonly redact?: boolean } = {},
): string {
  const settings = settingsOf(config);
  const endpoint = settings.endpoints[0];
  const address = endpoint === undefined ? "" : endpointText(endpoint);
  const query = Object.entries({
    tls: settings.transport === "TLS" || settings.transport === "WSS" ? "true" : undefined,
    tls_domain: config.tls?.servername,
    tls_ca_file: config.tls?.caFile,
    heartbeat_interval:
      config.heartbeatInterval === undefined ? undefined : `${String(settings.heartbeatIntervalMs)}ms`,
    reconnection_retries: config.reconnect?.maxRetries === undefined ? undefined : retriesText(config.reconnect),
    reconnection_interval:
      config.reconnect?.interval === undefined ? undefined : `${String(settings.reconnect.intervalMs)}ms`,
    reestablish_after:
      config.reconnect?.reestablishAfter === undefined
        ? undefined
        : `${String(settings.reconnect.reestablishAfterMs)}ms`,
    nodelay: config.options?.noDelay === undefined ? undefined : String(config.options.noDelay),
  }).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]));
  const credentials = redact ? "***:***" : credentialsText(config);
  return `${schemes[settings.transport]}://${credentials}@${address}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

const retriesText = ({ maxRetries }: ReconnectConfig): string =>
  maxRetries === Infinity ? "unlimited" : String(maxRetries);

function credentialsText({ credentials }: ClientConfig): string {
  if (credentials === undefined || typeof credentials === "function") {
    throw new ValidationError(ErrorCode.InvalidConnectionString, "a connection string needs fixed credentials");
  }
  const parts = "token" in credentials ? [credentials.token] : [credentials.username, credentials.password];
  if (parts.some((part) => reserved.test(part))) {
    throw new ValidationError(
      ErrorCode.InvalidConnectionString,
      "these credentials hold a character of the grammar (@ : / ?), so no connection string carries them",
    );
  }
  return parts.join(":");
}
