import { FeatureUnavailableError } from "../errors/index.js";
import type { TcpOptions } from "../transport/tcp.js";
import { nodeCallScope } from "./node-calls.js";
import { nodeReadable } from "./node-readable.js";
import { nodeWritable } from "./node-writable.js";
import type { Platform } from "./platform.js";
import type { TransportOptions } from "./config.js";
import { quicOptions } from "./quic-config.js";
import { webSocketOptions } from "./web-socket-config.js";

/** Sockets of Node.js, loaded when the first connection needs them. */
export const nodePlatform: Platform = {
  makeScope: nodeCallScope,
  readable: nodeReadable,
  writable: nodeWritable,
  async loadTransport(name, config) {
    const tcp = tcpOptions(config.options ?? {});
    switch (name) {
      case "TCP": {
        const { tcpTransport } = await import("../transport/tcp.js");
        return tcpTransport(tcp);
      }
      case "TLS": {
        const { tlsTransport } = await import("../transport/tls.js");
        return tlsTransport({ ...config.tls, ...(tcp.socket === undefined ? {} : { socket: tcp.socket }) }, tcp);
      }
      case "WS":
      case "WSS": {
        const options = webSocketOptions(name, config);
        const below = await this.loadTransport(name === "WS" ? "TCP" : "TLS", config);
        const { nodeWebSocketTransport } = await import("../transport/web-socket-node.js");
        return nodeWebSocketTransport(below, options);
      }
      case "QUIC": {
        const { findQuicProvider, quicTransport } = await import("../transport/quic.js");
        return quicTransport(await findQuicProvider(config.options?.provider), quicOptions(config));
      }
      case "HTTP":
      case "HTTPS":
        throw new FeatureUnavailableError(
          `this build has no ${name} transport; it connects over TCP, TLS, WS, WSS and QUIC`,
        );
    }
  },
};

/** Options that the client itself understands; the others go to the socket. */
const ownOptions: ReadonlySet<string> = new Set([
  "host",
  "port",
  "noDelay",
  "keepAlive",
  "url",
  "maxMessageSize",
  "protocols",
]);

function tcpOptions(options: TransportOptions): TcpOptions {
  const { noDelay, keepAlive } = options;
  const socket = Object.fromEntries(Object.entries(options).filter(([key]) => !ownOptions.has(key)));
  return {
    ...(noDelay === undefined ? {} : { noDelay }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
    ...(Object.keys(socket).length === 0 ? {} : { socket }),
  };
}
