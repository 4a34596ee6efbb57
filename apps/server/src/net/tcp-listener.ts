import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { timerMillis } from "../timer-limit.js";
import { AcceptedSockets } from "./accepted-sockets.js";
import type { Listener } from "./listener.js";
import type { SocketSlots } from "./socket-slots.js";

export interface TcpListenerOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Present when clients speak TLS on this port. */
  readonly tls?: TlsOptions;
  /** A TLS handshake that takes longer ends the connection. */
  readonly handshakeTimeoutMillis: number;
  /** Sockets for which there is no slot are closed at accept. */
  readonly slots: SocketSlots;
  /** A connection is open, past its TLS handshake where there is one. */
  readonly onSocket: (socket: Socket) => void;
}

/** Options of every accepted socket. Without heartbeats only the probes of TCP find out that a peer is gone. */
const SOCKET = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const;

/** Accepts TCP or TLS connections and hands each over. */
export class TcpListener implements Listener {
  private readonly server: Server;
  private readonly options: TcpListenerOptions;
  private readonly sockets: AcceptedSockets;

  constructor(options: TcpListenerOptions) {
    this.options = options;
    const accept = (socket: Socket): void => {
      if (!socket.destroyed) options.onSocket(socket);
    };
    this.server =
      options.tls === undefined
        ? createServer({ ...SOCKET, allowHalfOpen: true }, accept)
        : createTlsServer(
            { ...SOCKET, ...options.tls, handshakeTimeout: timerMillis(options.handshakeTimeoutMillis) },
            accept,
          );
    this.sockets = new AcceptedSockets(this.server, options.slots);
    // The peer of a failed handshake is told by TLS itself; the socket must not linger.
    this.server.on("tlsClientError", (_error: Error, socket: Socket) => socket.destroy());
  }

  /** Binds; rejects with the system's error, for example when the port is taken. */
  async listen(): Promise<void> {
    const listening = once(this.server, "listening");
    this.server.listen({ host: this.options.host, port: this.options.port, backlog: 1024 });
    await listening;
  }

  /** Port that was bound. */
  get port(): number {
    const address = this.server.address();
    return typeof address === "object" && address !== null ? address.port : this.options.port;
  }

  /** Stops to accept; existing connections stay. */
  stopAccepting(): void {
    this.server.close();
  }

  /** Ends every connection that is still there. */
  destroyConnections(): void {
    this.sockets.destroyAll();
  }

  /** Both at once. */
  close(): void {
    this.stopAccepting();
    this.destroyConnections();
  }
}
