import { connect, type TcpNetConnectOpts } from "node:net";
import { asBuffer, openSocket } from "./socket.js";
import type { Transport } from "./transport.js";

export interface TcpOptions {
  /**
   * Turns Nagle's algorithm off. On by default, unlike in the Rust client: a request leaves in one write, so there is
   * nothing to gather, and waiting for an acknowledgement would only add latency.
   */
  readonly noDelay?: boolean;
  readonly keepAlive?: boolean;
  /** Further options of `node:net`; host, port and signal are set by the client. */
  readonly socket?: Partial<TcpNetConnectOpts>;
}

export function tcpTransport(options: TcpOptions = {}): Transport {
  return {
    protocol: "tcp",
    present: asBuffer,
    connect(endpoint, handlers, signal) {
      const socket = connect({
        ...options.socket,
        host: endpoint.host,
        port: endpoint.port,
        noDelay: options.noDelay ?? true,
        keepAlive: options.keepAlive ?? false,
      });
      return openSocket(socket, "connect", endpoint, handlers, signal);
    },
  };
}
