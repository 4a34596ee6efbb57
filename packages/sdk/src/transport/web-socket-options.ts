/** What both WebSocket transports, that of the platform and that of Node.js, understand. */
export interface WebSocketOptions {
  /** TLS below. */
  readonly secure: boolean;
  /** Path and query of the URL; `/` without it. */
  readonly path?: string;
  /** Subprotocols to offer, for a proxy that asks for one; servers choose none. */
  readonly protocols?: readonly string[];
}

/** What a client that ends its connection says. */
export const farewell = { code: 1000, reason: "Client requested shutdown" } as const;
