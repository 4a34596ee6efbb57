/** Where a server listens. IPv6 hosts are written without brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export type TransportProtocol = "tcp" | "quic" | "http" | "ws";

/** What a connection tells its owner. Nothing is called before `connect` resolved, or after `onClose`. */
export interface ConnectionHandlers {
  /** Bytes in order. The chunk is the owner's to keep. */
  onData(chunk: Uint8Array): void;
  /** The send buffer has room again. */
  onDrain(): void;
  /** The connection ended, once; the error says why unless it was asked for. */
  onClose(error: Error | undefined): void;
}

/** An open byte stream to one server. */
export interface Connection {
  /** IP address of the peer, where the platform tells it. */
  readonly remoteHost?: string | undefined;
  /** Queues bytes, without copying. False when the send buffer is full: wait for `onDrain`. */
  send(bytes: Uint8Array): boolean;
  /** Ends the stream. `onClose` follows without an error; calling it again does nothing. */
  close(): void;
}

/** A way to open connections. */
export interface Transport {
  readonly protocol: TransportProtocol;
  /** The same bytes in the form that programs of its platform expect of a reply; as they are without it. */
  readonly present?: (bytes: Uint8Array) => Uint8Array;
  /** Opens a connection; rejects when `signal` aborts first. */
  connect(endpoint: Endpoint, handlers: ConnectionHandlers, signal: AbortSignal): Promise<Connection>;
}

/** `host:port`, with brackets around an IPv6 host. */
export function endpointText(endpoint: Endpoint): string {
  const host = endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host;
  return `${host}:${String(endpoint.port)}`;
}
