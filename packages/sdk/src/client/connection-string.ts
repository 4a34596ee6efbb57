import {
  connectionOptionKeys,
  type ConnectionOptions,
  type ConnectionTransport,
  ErrorCode,
  IggyError as ProtocolError,
  parseConnectionString as parse,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { endpointText } from "../transport/index.js";
import type { ClientConfig, ReconnectConfig, TlsConfig, TransportName, TransportOptions } from "./config.js";
import { type Settings, settingsOf } from "./settings.js";

/**
 * The configuration of a connection string, `scheme://credentials@host:port[?key=value&…]`. Credentials are taken as they
 * stand; those with a character of the grammar are given in the options object instead.
 * Errors: `InvalidConnectionString` (8000), `InvalidNumberValue` (84). They hold no part of the credentials.
 */
export function parseConnectionString(text: string): ClientConfig {
  if (typeof text !== "string") throw new TypeError("a connection string is a string");
  const { transport, credentials, host, port, options } = parsed(text);
  return {
    transport: transportOf(transport, options.tls === true),
    options: { host, port, ...transportOptionsOf(options) },
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
    ...(options.retries === undefined ? {} : { http: { retries: options.retries } }),
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

/** Options that the transport itself takes; those of QUIC go to its provider as they are. */
function transportOptionsOf(options: ConnectionOptions): TransportOptions {
  return {
    ...optional("noDelay", options.noDelay),
    ...optional("maxMessageSize", options.maxMessageSize),
    ...optional("maxConcurrentBidiStreams", options.maxConcurrentBidiStreams),
    ...optional("datagramSendBufferSize", options.datagramSendBufferSize),
    ...optional("initialMtu", options.initialMtu),
    ...optional("sendWindow", options.sendWindow),
    ...optional("receiveWindow", options.receiveWindow),
    ...optional("keepAliveInterval", options.keepAliveIntervalMs),
    ...optional("maxIdleTimeout", options.maxIdleTimeoutMs),
  };
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

/**
 * The connection string of a configuration, with what its transport has a key for. Credentials are `***` unless `redact` is
 * false; then those that no string carries are refused with `InvalidConnectionString` (8000).
 */
export function formatConnectionString(
  config: ClientConfig,
  { redact = true }: { readonly redact?: boolean } = {},
): string {
  const settings = settingsOf(config);
  const endpoint = settings.endpoints[0];
  const address = endpoint === undefined ? "" : endpointText(endpoint);
  const known = connectionOptionKeys(protocols[settings.transport]);
  const query = Object.entries(optionValues(config, settings)).flatMap(([key, value]) =>
    known.includes(key) && isPlain(value) ? [`${key}=${String(value)}`] : [],
  );
  const credentials = redact ? "***:***" : credentialsText(config);
  return `${schemes[settings.transport]}://${credentials}@${address}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

/** Values by key; which of them a transport has is for the table of keys to say. */
function optionValues(config: ClientConfig, settings: Settings): Readonly<Record<string, unknown>> {
  const { tls, options = {}, pendingOperations, reconnect, heartbeatInterval, maxResponseFrameSize, http } = config;
  const retries = reconnect?.maxRetries === undefined ? undefined : retriesText(reconnect.maxRetries);
  const reestablish =
    reconnect?.reestablishAfter === undefined ? undefined : millis(settings.reconnect.reestablishAfterMs);
  const validates = tls?.rejectUnauthorized;
  return {
    tls: settings.transport === "TLS" || settings.transport === "WSS" ? true : undefined,
    tls_domain: tls?.servername,
    tls_ca_file: tls?.caFile,
    tls_validate_certificate: validates,
    validate_certificate: validates,
    heartbeat_interval: heartbeatInterval === undefined ? undefined : millis(settings.heartbeatIntervalMs),
    reconnection_retries: retries,
    reconnection_max_retries: retries,
    reconnection_interval: reconnect?.interval === undefined ? undefined : millis(settings.reconnect.intervalMs),
    reestablish_after: reestablish,
    reconnection_reestablish_after: reestablish,
    nodelay: options.noDelay,
    max_pending_operations: pendingOperations?.maxOperations,
    max_pending_operation_bytes: pendingOperations?.maxBytes,
    max_message_size: options["maxMessageSize"],
    max_frame_size: maxResponseFrameSize,
    response_buffer_size: maxResponseFrameSize,
    max_concurrent_bidi_streams: options["maxConcurrentBidiStreams"],
    datagram_send_buffer_size: options["datagramSendBufferSize"],
    initial_mtu: options["initialMtu"],
    send_window: options["sendWindow"],
    receive_window: options["receiveWindow"],
    keep_alive_interval: options["keepAliveInterval"],
    max_idle_timeout: options["maxIdleTimeout"],
    retries: http?.retries,
  };
}

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

const millis = (ms: number): string => `${String(ms)}ms`;
const retriesText = (retries: number): string => (retries === Infinity ? "unlimited" : String(retries));

const protocols: Readonly<Record<TransportName, ConnectionTransport>> = {
  TCP: "tcp",
  TLS: "tcp",
  WS: "websocket",
  WSS: "websocket",
  QUIC: "quic",
  HTTP: "http",
  HTTPS: "http",
};

function credentialsText({ credentials }: ClientConfig): string {
  if (credentials === undefined || typeof credentials === "function") {
    throw new ValidationError(ErrorCode.InvalidConnectionString, "a connection string needs fixed credentials");
  }
  // A token may hold a slash: it is base64.
  const isToken = "token" in credentials;
  const parts = isToken ? [credentials.token] : [credentials.username, credentials.password];
  if (parts.some((part) => (isToken ? /[@:?]/ : /[@:?/]/).test(part))) {
    throw new ValidationError(
      ErrorCode.InvalidConnectionString,
      "these credentials hold a character of the grammar (@ : / ?), so no connection string carries them: " +
        "give them in the options object",
    );
  }
  return parts.join(":");
}
