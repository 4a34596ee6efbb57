import type { Instrumentation } from "../calls/call-run.js";
import type { Fetch } from "../http/exchange.js";
import type { CredentialsSource } from "../session/credentials.js";
import type { QuicProvider } from "../transport/index.js";
import type { Random } from "../time/backoff.js";
import type { Duration } from "../values/duration.js";
import type { Encryptor } from "../encryption/index.js";
import type { ProducerMessage } from "../producer/prepared-send.js";
import type { Id } from "../values/id.js";

export type TransportName = "TCP" | "TLS" | "WS" | "WSS" | "QUIC" | "HTTP" | "HTTPS";

/** Where to connect, and further options of the transport. */
export interface TransportOptions {
  /** Host name, IPv4 or IPv6 address; 127.0.0.1 without it. */
  readonly host?: string;
  /** 1 to 65535; the port of the transport without it. */
  readonly port?: number;
  /** TCP, TLS: false turns Nagle's algorithm on. */
  readonly noDelay?: boolean;
  /** TCP, TLS: TCP keep-alive. */
  readonly keepAlive?: boolean;
  /**
   * In place of host and port. WS, WSS: `ws://host:port/path` or `wss://...`, for a server behind a proxy. HTTP, HTTPS:
   * `http://host:port` or `https://host:port`, nothing behind it.
   */
  readonly url?: string;
  /** WS, WSS: largest message taken, bytes; `maxResponseFrameSize` without it. Browsers know no such limit. */
  readonly maxMessageSize?: number;
  /** WS, WSS: subprotocols to offer, for a proxy that asks for one. */
  readonly protocols?: readonly string[];
  /** QUIC: a stack in place of that of `@iggy/quic`, which is found by itself where it is installed. */
  readonly provider?: QuicProvider;
  /** QUIC: name that the server's certificate must carry; the host without it. */
  readonly serverName?: string;
  /** QUIC: bytes of the first datagrams, 1200 to 65535; 1200, which every path carries, without it. */
  readonly initialMtu?: number;
  /** QUIC: bytes that may be on their way to the server, and back from it; 8 MiB each without them. */
  readonly sendWindow?: number;
  readonly receiveWindow?: number;
  /** QUIC: ms between signs of life on a quiet connection, 5000 without it; 0 is off. */
  readonly keepAliveInterval?: number;
  /** QUIC: ms after which a mute connection is lost, 10,000 without it; 0 is off. */
  readonly maxIdleTimeout?: number;
  /** TCP, TLS, and WS and WSS of Node.js: anything else goes to `node:net` or `node:tls` as it is. */
  readonly [option: string]: unknown;
}

export interface TlsConfig {
  /** PEM roots that replace the built-in ones. */
  readonly ca?: string | Uint8Array;
  /** File with PEM roots; Node.js only. */
  readonly caFile?: string;
  readonly cert?: string | Uint8Array;
  readonly key?: string | Uint8Array;
  /** Name that the server's certificate must carry; the host without it. */
  readonly servername?: string;
  /** False accepts any certificate. */
  readonly rejectUnauthorized?: boolean;
}

export interface ReconnectConfig {
  /** False: a lost link stays down until `connect()`. */
  readonly enabled?: boolean;
  /** First pause between passes over the endpoints; it doubles, with full jitter. 1 s without it. */
  readonly interval?: Duration;
  /** Passes after the first one; no limit without it. */
  readonly maxRetries?: number;
  /** Longest pause, 10 s without it. */
  readonly maxInterval?: Duration;
  /** A link that stayed up this long resets the pauses; 5 s without it. */
  readonly reestablishAfter?: Duration;
}

export interface HttpConfig {
  /** How often a request that failed for a while is sent again, 3 times without it. */
  readonly retries?: number;
  /** A token to begin with: a JWT, also of an issuer that the server trusts, or a personal access token. */
  readonly jwt?: string;
  /** Renews the token before it expires, and once when the server refuses it; true without it. */
  readonly autoRefresh?: boolean;
  /** Sends the requests, `globalThis.fetch` without it: for proxies, certificates of one's own, tests. */
  readonly fetch?: Fetch;
}

/** Chooses the partition of a request of a producer. */
export type Partitioner = (batch: {
  readonly streamId: Id;
  readonly topicId: Id;
  /** As they are sent: encrypted when there is an encryptor. */
  readonly messages: readonly ProducerMessage<unknown>[];
}) => number | Promise<number>;

export interface ClientConfig {
  /** `TCP` without it. */
  readonly transport?: TransportName;
  readonly options?: TransportOptions;
  /** Further endpoints, `host:port`, tried in order after the first one. */
  readonly servers?: readonly string[];
  /** Signs in on connect, and again when the server lost the session. A function is asked each time. */
  readonly credentials?: CredentialsSource;
  readonly reconnect?: ReconnectConfig;
  /** ms between pings, 5000 without it; 0 sends none, and an idle session expires on the server. */
  readonly heartbeatInterval?: number;
  /** Largest reply taken, header included; 64 MiB without it. */
  readonly maxResponseFrameSize?: number;
  /** False takes messages as they come; true, the default, hashes each one and compares it with its checksum. */
  readonly verifyChecksums?: boolean;
  /** Writes that are under way or have an unknown outcome, and the bytes of their frames: 256 and 64 MiB. */
  readonly pendingOperations?: { readonly maxOperations?: number; readonly maxBytes?: number };
  /** A client is one session: 1 is the only size. */
  readonly poolSize?: { readonly min?: number; readonly max?: number };
  /** A call of a producer or consumer resolves its own operation of unknown outcome first; true without it. */
  readonly autoResolve?: boolean;
  /** Chooses partitions for the producers of the client that have no partitioner of their own. */
  readonly partitioner?: Partitioner;
  /** Encrypts payloads and user headers before they leave, and decrypts what is read. */
  readonly encryptor?: Encryptor;
  readonly tls?: TlsConfig;
  /** HTTP and HTTPS only. */
  readonly http?: HttpConfig;
  /** Name of the client as servers see it, 1 to 255 bytes. */
  readonly name?: string;
  readonly version?: string;
  /** Sees every attempt of every call. */
  readonly instrumentation?: Instrumentation;
  /** µs since the epoch, for the origin time of messages. */
  readonly clock?: () => bigint;
  /** Numbers from 0 up to 1, for pauses. Secrets never come from it. */
  readonly random?: Random;
}

export const DEFAULT_HEARTBEAT_INTERVAL = 5000;
export const MAX_HEARTBEAT_INTERVAL = 2_147_483_647;
export const DEFAULT_MAX_RESPONSE_FRAME_SIZE = 67_108_864;

/** Transport names as values. */
export const Transports = {
  TCP: "TCP",
  TLS: "TLS",
  WS: "WS",
  WSS: "WSS",
  QUIC: "QUIC",
  HTTP: "HTTP",
  HTTPS: "HTTPS",
} as const satisfies Record<TransportName, TransportName>;
