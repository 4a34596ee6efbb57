import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { rootCertificates } from "node:tls";
import { type Addon, CONGESTED_BYTES } from "./addon/index.js";
import { readRoots } from "./certificate.js";
import { type Ending, endingError, refusal } from "./ending.js";
import { type EndpointEvents, onEvent } from "./events.js";
import { refusable, requireAddon } from "./native.js";
import { QuicError } from "./quic-error.js";

export interface QuicDial {
  readonly host: string;
  readonly port: number;
  /** Name that the certificate must carry, and that the server is asked for; the host without it. */
  readonly serverName?: string;
  /** PEM roots in place of those of Node.js. */
  readonly ca?: string;
  /** False accepts any certificate. */
  readonly rejectUnauthorized?: boolean;
  /** Largest reply, 64,156,564 bytes without it. */
  readonly responseBytesMax?: number;
  /** Bytes of the first datagrams, 1200 without it, which every path carries. */
  readonly initialMtu?: number;
  readonly sendWindowBytes?: number;
  readonly receiveWindowBytes?: number;
  /** 5000 without it; 0 is off. */
  readonly keepAliveMillis?: number;
  /** 10,000 without it; 0 is off. */
  readonly idleTimeoutMillis?: number;
  /** Time for the connection to stand, 10,000 without it. */
  readonly connectMillis?: number;
  /** Protocols offered in the handshake. Iggy has none, and refuses who offers some. */
  readonly protocols?: readonly string[];
}

/** What a connection to a server reports. Nothing comes after `onClose`. */
export interface QuicClientHandlers {
  onReply(stream: number, bytes: Uint8Array): void;
  /** The stream ended without a reply; the connection goes on. */
  onFailed(stream: number, error: QuicError): void;
  /** What waits for the server has become little, after it was much. */
  onDrain(): void;
  /** Without an error when this side closed. */
  onClose(error: QuicError | undefined): void;
}

const MTU_DEFAULT = 1200;
const WINDOW_BYTES = 8 * 1024 * 1024;
const RESPONSE_BYTES_MAX = 64_156_564;
const CONNECT_MILLIS = 10_000;
/** The one connection of a client, as in `native/src/endpoint.rs`. */
const SERVER = 1;
/** Requests that wait for a reply; servers run far fewer at once. */
const REQUESTS_MAX = 4096;

/**
 * Connects. Rejects with a `QuicError` that names what is wrong: the certificate or the handshake (`QUIC_TLS`), no answer
 * at all (`QUIC_NO_ANSWER`), an answer but no end of the handshake in time (`QUIC_INCOMPLETE`), or no addon
 * (`QUIC_UNAVAILABLE`). When `signal` aborts it rejects at once, with what is known by then.
 */
export async function connectQuic(
  dial: QuicDial,
  handlers: QuicClientHandlers,
  signal?: AbortSignal,
): Promise<QuicClient> {
  const addon = requireAddon();
  signal?.throwIfAborted();
  const host = isIP(dial.host) === 0 ? (await lookup(dial.host)).address : dial.host;
  signal?.throwIfAborted();
  return QuicClient.open(addon, host, dial, handlers, signal);
}

/** One connection to a server; each request is a stream of its own. */
export class QuicClient implements EndpointEvents {
  /** The server, as it was named. */
  private readonly name: string;
  private readonly addon: Addon;
  private readonly handlers: QuicClientHandlers;
  private readonly endpoint: number;
  private readonly waiting = new Set<number>();
  private connecting: { settle(error: QuicError | undefined): void } | undefined;
  private lastStream = 0;
  private stood = false;
  private isClosed = false;
  private readonly initialMtu: number;

  private constructor(addon: Addon, host: string, dial: QuicDial, handlers: QuicClientHandlers) {
    this.addon = addon;
    this.name = `${dial.host.includes(":") ? `[${dial.host}]` : dial.host}:${dial.port} (UDP)`;
    this.handlers = handlers;
    this.initialMtu = dial.initialMtu ?? MTU_DEFAULT;
    const { receiveWindowBytes = WINDOW_BYTES, rejectUnauthorized = true } = dial;
    const options = {
      host,
      port: dial.port,
      streamsMax: 0,
      initialMtu: this.initialMtu,
      sendWindowBytes: dial.sendWindowBytes ?? WINDOW_BYTES,
      receiveWindowBytes,
      streamReceiveWindowBytes: receiveWindowBytes,
      keepAliveMillis: dial.keepAliveMillis ?? 5000,
      idleTimeoutMillis: dial.idleTimeoutMillis ?? 10_000,
      handshakeMillis: 0,
      messageBytesMax: dial.responseBytesMax ?? RESPONSE_BYTES_MAX,
      unansweredBytesHigh: 0,
      connectionsMax: 1,
      serverName: dial.serverName ?? dial.host,
      acceptsAny: rejectUnauthorized ? 0 : 1,
      roots: rejectUnauthorized ? readRoots(dial.ca ?? rootCertificates.join("\n")) : [],
      protocols: (dial.protocols ?? []).map((protocol) => Buffer.from(protocol)),
    } as const;
    this.endpoint = refusable(() => addon.openClient(options, onEvent(this)));
  }

  static open(
    addon: Addon,
    host: string,
    dial: QuicDial,
    handlers: QuicClientHandlers,
    signal?: AbortSignal,
  ): Promise<QuicClient> {
    const client = new QuicClient(addon, host, dial, handlers);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => client.connecting?.settle(client.noConnection());
      const timer = setTimeout(giveUp, dial.connectMillis ?? CONNECT_MILLIS);
      signal?.addEventListener("abort", giveUp, { once: true });
      client.connecting = {
        settle(error) {
          client.connecting = undefined;
          clearTimeout(timer);
          signal?.removeEventListener("abort", giveUp);
          if (error === undefined) {
            resolve(client);
            return;
          }
          client.shut();
          reject(error);
        },
      };
    });
  }

  /** Sends a request. Its number comes back with the reply, or with `onFailed`. */
  request(message: Uint8Array): number {
    if (this.waiting.size >= REQUESTS_MAX) {
      throw new QuicError("QUIC_STREAM", `${REQUESTS_MAX} requests wait for replies of ${this.name}`);
    }
    const stream = ++this.lastStream;
    this.waiting.add(stream);
    this.addon.request(this.endpoint, SERVER, stream, message);
    return stream;
  }

  /** The reply is of no use any more; the server is told to stop. Nothing more is heard of the stream. */
  abandon(stream: number): void {
    if (this.waiting.delete(stream)) this.addon.abandon(this.endpoint, SERVER, stream);
  }

  /** Much waits to be sent: go on after `onDrain`. */
  get isCongested(): boolean {
    return (this.addon.queuedBytes(this.endpoint, SERVER) ?? 0) > CONGESTED_BYTES;
  }

  /** Bytes of a datagram on the path to the server. */
  get mtu(): number {
    return this.addon.mtu(this.endpoint, SERVER) ?? 0;
  }

  /** Ends the connection at once; `onClose` follows. */
  close(): void {
    this.shut();
  }

  // What the addon reports.

  opened(): void {
    if (this.connecting === undefined) return;
    this.stood = true;
    this.connecting.settle(undefined);
  }

  message(_peer: number, stream: number, bytes: Uint8Array): void {
    if (this.waiting.delete(stream)) this.handlers.onReply(stream, bytes);
  }

  /** A server that wants no more of a request answers it, or not. */
  stopped(): void {
    return;
  }

  failed(_peer: number, stream: number, code: number, reason: string): void {
    if (!this.waiting.delete(stream)) return;
    this.handlers.onFailed(
      stream,
      new QuicError("QUIC_STREAM", `no reply of ${this.name}: ${reason}`, { detail: code }),
    );
  }

  drained(): void {
    this.handlers.onDrain();
  }

  closed(_peer: number, ending: Ending): void {
    if (this.connecting !== undefined) {
      const idle = ending.cause === "idle" || ending.cause === "reset";
      this.connecting.settle(idle ? this.noConnection() : refusal(ending, this.name));
      return;
    }
    this.waiting.clear();
    this.shut();
    if (this.stood) this.handlers.onClose(endingError(ending, this.name));
  }

  finished(): void {
    this.addon.forget(this.endpoint);
  }

  private shut(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.addon.close(this.endpoint, 0, "");
  }

  private noConnection(): QuicError {
    const { initialMtu } = this;
    const large =
      initialMtu > MTU_DEFAULT ? `, or the path carries no datagrams of ${initialMtu} bytes (initial MTU)` : "";
    if ((this.addon.received(this.endpoint) ?? 0) === 0) {
      const text = `no answer from ${this.name}: nobody listens there, or UDP is blocked on the way${large}`;
      return new QuicError("QUIC_NO_ANSWER", text);
    }
    const text = `${this.name} answers, but the handshake does not end: datagrams are lost on the way, the large ones when the path MTU is below ${initialMtu} bytes`;
    return new QuicError("QUIC_INCOMPLETE", text);
  }
}
