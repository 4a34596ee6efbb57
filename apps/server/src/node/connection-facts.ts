import type { Connection, SessionBinding } from "../net/connection.js";

/** What the node tells about one of its connections. */
export interface ConnectionFacts {
  readonly id: number;
  readonly transport: number;
  /** `ip:port`. */
  readonly address: string;
  readonly binding: SessionBinding | undefined;
}

export const factsOf = ({ id, transport, channel, binding }: Connection): ConnectionFacts => ({
  id,
  transport,
  address: channel.peerAddress,
  binding,
});
