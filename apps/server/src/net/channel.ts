import type { Memory } from "@iggy/storage";

/** One transport connection below the framing: TCP, TLS, and later WebSocket and QUIC streams. */
export interface Channel {
  /** Address of the peer as `ip:port`. */
  readonly peerAddress: string;
  /** Bytes handed to the transport and not yet taken by the kernel. */
  readonly queuedBytes: number;
  /**
   * Sends the pieces back to back. They must not change until they are sent; `memory`, in which some of them lie, is
   * released then, or when they are dropped.
   */
  send(pieces: readonly Uint8Array[], memory?: readonly Memory[]): void;
  /** Stops and starts reading: backpressure to the peer. */
  pause(): void;
  resume(): void;
  /** Sends what is queued, then closes; a peer that keeps its side open is cut off after a grace. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** What a listener reports about a channel. */
export interface ChannelEvents {
  data(chunk: Uint8Array): void;
  /** The kernel took everything that was queued. */
  drained(): void;
  closed(): void;
}
