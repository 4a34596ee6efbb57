/** What a QUIC connection is asked for. The names of the options are those of connection strings. */
export interface QuicDial {
  readonly host: string;
  readonly port: number;
  /** Name that the certificate must carry. */
  readonly serverName: string;
  /** PEM roots in place of the built-in ones. */
  readonly ca?: string;
  /** False accepts any certificate. */
  readonly rejectUnauthorized: boolean;
  /** Bytes of the largest reply; a larger one fails its stream. */
  readonly responseBytesMax: number;
  /** Bytes of the first datagrams. */
  readonly initialMtu?: number;
  readonly sendWindowBytes?: number;
  readonly receiveWindowBytes?: number;
  /** 0 is off. */
  readonly keepAliveMillis: number;
  /** 0 is off. */
  readonly idleTimeoutMillis: number;
}

/** What a QUIC connection reports. Nothing comes before `connect` resolved, or after `onClose`. */
export interface QuicHandlers {
  /** Everything that the server sent on a stream, once it finished it. */
  onReply(stream: number, bytes: Uint8Array): void;
  /** A stream ended otherwise; the connection goes on. */
  onFailed(stream: number, error: Error): void;
  /** `isCongested` has become false. */
  onDrain(): void;
  /** Without an error when this side closed. */
  onClose(error: Error | undefined): void;
}

/** One QUIC connection. */
export interface QuicConnection {
  /** Opens a stream, sends the bytes and finishes it. Gives a number by which the reply is known. Copies the bytes. */
  request(bytes: Uint8Array): number;
  /** Much waits to be sent: `onDrain` follows. */
  readonly isCongested: boolean;
  /** Ends the connection at once. */
  close(): void;
}

/**
 * A QUIC stack: TLS 1.3 without ALPN and without 0-RTT, one stream for each request. `@iggy/quic` is one; in Node.js it is
 * found by itself where it is installed.
 */
export interface QuicProvider {
  /** Whether it works in this process, where that can be told; the reason why not. */
  probe?(): { readonly available: boolean; readonly reason: string; readonly remedy: string };
  connect(dial: QuicDial, handlers: QuicHandlers, signal: AbortSignal): Promise<QuicConnection>;
}
