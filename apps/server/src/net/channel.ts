import type { Memory } from "@iggy/storage";

/** One transport connection below the framing: TCP, TLS, and later WebSocket and QUIC streams. */
export interface Channel {
  /** Address of the peer as `ip:port`. */
  readonly peerAddress: string;
  /** Bytes handed to the transport and not yet taken by the kernel. */
  readonly queuedBytes: number;
  /** Milliseconds since bytes last arrived, where that is known before they are reported with `heard`. */
  readonly quietMillis?: number;
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

/** What a channel reports. */
export interface ChannelEvents {
  /** Largest frame that the peer may send now, header included. It may change with every frame. */
  readonly maxFrameBytes: number;
  /** Bytes arrived; the frames that they complete follow, then `settled`. */
  heard(): void;
  /** One whole frame. It may be changed once the call returns, unless `memory`, when there is any, is retained. */
  frame(frame: Uint8Array, memory: Memory | undefined): void;
  /** The peer sent bytes that are no frame, or a frame could not be handled: nothing that follows can be read. */
  malformed(error: Error): void;
  settled(): void;
  /** The kernel took everything that was queued. */
  drained(): void;
  closed(): void;
}
