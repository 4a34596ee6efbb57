import type { Addon } from "./addon/index.js";
import type { Certificate } from "./certificate.js";
import type { Ending } from "./ending.js";
import { type EndpointEvents, onEvent } from "./events.js";
import { refusable, requireAddon } from "./native.js";

export interface QuicListenerOptions {
  /** A literal IP address. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly certificate: Certificate;
  /** Streams that one client may have open; one carries one request. */
  readonly streamsMax: number;
  /** Bytes of the first datagrams, 1200 to 65535; path discovery finds out whether larger ones fit. */
  readonly initialMtu: number;
  /** Bytes of replies that a client has not acknowledged. */
  readonly sendWindowBytes: number;
  /** Bytes that a client may send before they are read. A client that may send only small messages gets less. */
  readonly receiveWindowBytes: number;
  readonly streamReceiveWindowBytes: number;
  /** 0 is off. */
  readonly keepAliveMillis: number;
  /** 0 is off. */
  readonly idleTimeoutMillis: number;
  /** A handshake that takes longer is dropped. */
  readonly handshakeMillis: number;
  /** Largest request of a new connection; `QuicConnection.setMessageLimit` changes it. */
  readonly messageBytesMax: number;
  /** Bytes of requests of one connection that are not answered above which it is read no further. */
  readonly unansweredBytesHigh: number;
  /** Connections above this are refused. */
  readonly connectionsMax: number;
  readonly onConnection: (connection: QuicConnection) => QuicConnectionHandler;
}

/** What a connection reports. Nothing comes after `closed`. */
export interface QuicConnectionHandler {
  /** A whole request. Each must be answered once with `respond`, which also makes room for the next. */
  message(stream: number, bytes: Uint8Array): void;
  /** The client wants no reply on this stream any more; it must be answered all the same. */
  stopped(stream: number): void;
  /** What waits for the client has become little, after it was much. */
  drained(): void;
  closed(ending: Ending): void;
}

/** One client. */
export class QuicConnection {
  /** Address of the client as `ip:port`. */
  readonly peerAddress: string;
  private readonly addon: Addon;
  private readonly endpoint: number;
  private readonly peer: number;

  constructor(addon: Addon, endpoint: number, peer: number, peerAddress: string) {
    this.addon = addon;
    this.endpoint = endpoint;
    this.peer = peer;
    this.peerAddress = peerAddress;
  }

  /** Bytes of replies that QUIC has not taken yet; the send window holds others. */
  get queuedBytes(): number {
    return this.addon.queuedBytes(this.endpoint, this.peer) ?? 0;
  }

  /** Milliseconds since bytes of a request last arrived. */
  get quietMillis(): number {
    return this.addon.quietMillis(this.endpoint, this.peer) ?? 0;
  }

  /** Bytes of a datagram on the path to the client; 0 when it is gone. */
  get mtu(): number {
    return this.addon.mtu(this.endpoint, this.peer) ?? 0;
  }

  /**
   * Answers a request, with a copy of the pieces back to back; without any the stream ends empty. A stream that is
   * gone is passed over.
   */
  respond(stream: number, pieces: readonly Uint8Array[]): void {
    this.addon.respond(this.endpoint, this.peer, stream, pieces);
  }

  /** Largest request from now on; a larger one ends the connection with code 0x1004. */
  setMessageLimit(bytes: number): void {
    this.addon.setMessageLimit(this.endpoint, this.peer, bytes);
  }

  /** Closes once the client has every reply that was given, or after a grace. */
  finish(code: number, reason: string, graceMillis: number): void {
    this.addon.finishPeer(this.endpoint, this.peer, code, reason, graceMillis);
  }

  close(code: number, reason: string): void {
    this.addon.closePeer(this.endpoint, this.peer, code, reason);
  }
}

/** A UDP socket that accepts clients. */
export class QuicListener implements EndpointEvents {
  private readonly options: QuicListenerOptions;
  private readonly addon: Addon;
  private readonly endpoint: number;
  private readonly handlers = new Map<number, QuicConnectionHandler>();
  private readonly finish: { resolve(): void; readonly promise: Promise<void> };
  private isClosed = false;
  /** Port that was bound. */
  readonly port: number;

  private constructor(options: QuicListenerOptions) {
    this.options = options;
    this.addon = requireAddon();
    let resolve = (): void => undefined;
    const promise = new Promise<void>((settle) => (resolve = settle));
    this.finish = { resolve, promise };
    this.endpoint = refusable(() => this.addon.openServer({ ...options, ...options.certificate }, onEvent(this)));
    this.port = this.addon.port(this.endpoint) ?? options.port;
  }

  /**
   * Binds. Throws a `QuicError`: `QUIC_UNAVAILABLE` without an addon, `QUIC_BIND` when the address can't be had,
   * `QUIC_CERTIFICATE` when TLS can't use the certificate.
   */
  static listen(options: QuicListenerOptions): QuicListener {
    return new QuicListener(options);
  }

  /** Another certificate for the connections that come from now on. */
  setCertificate(certificate: Certificate): void {
    refusable(() => {
      this.addon.setCertificate(this.endpoint, certificate);
    });
  }

  /** Takes no further connections; those that are there stay. */
  stopAccepting(): void {
    if (!this.isClosed) this.addon.stopAccepting(this.endpoint);
  }

  /** Ends every connection at once. The port is free when it resolves. May be called again. */
  close(code = 0, reason = ""): Promise<void> {
    if (!this.isClosed) {
      this.isClosed = true;
      this.addon.close(this.endpoint, code, reason);
    }
    return this.finish.promise;
  }

  // What the addon reports.

  opened(peer: number, address: string): void {
    const connection = new QuicConnection(this.addon, this.endpoint, peer, address);
    this.handlers.set(peer, this.options.onConnection(connection));
  }

  message(peer: number, stream: number, bytes: Uint8Array): void {
    this.handlers.get(peer)?.message(stream, bytes);
  }

  stopped(peer: number, stream: number): void {
    this.handlers.get(peer)?.stopped(stream);
  }

  /** Only who asks has failing requests. */
  failed(): void {
    return;
  }

  drained(peer: number): void {
    this.handlers.get(peer)?.drained();
  }

  closed(peer: number, ending: Ending): void {
    const handler = this.handlers.get(peer);
    this.handlers.delete(peer);
    handler?.closed(ending);
  }

  finished(): void {
    this.addon.forget(this.endpoint);
    this.finish.resolve();
  }
}
