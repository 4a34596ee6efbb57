import type { Memory } from "@iggy/storage";

/**
 * Number of a stream that carries one request and its reply, on transports that have one for each; undefined on those
 * where everything shares one.
 */
export type ReplyStream = number | undefined;

/** One transport connection below the framing. */
export interface Channel {
  /** Address of the peer as `ip:port`. */
  readonly peerAddress: string;
  /** Bytes handed to the transport and not yet taken by the kernel. */
  readonly queuedBytes: number;
  /** Milliseconds since bytes last arrived, where that is known before they are reported with `heard`. */
  readonly quietMillis?: number;
  /**
   * Sends the pieces back to back. They must not change until they are sent; `memory`, in which some of them lie, is
   * released then, or when they are dropped. A frame that answers nothing, without a stream, leaves on any.
   */
  send(pieces: readonly Uint8Array[], memory?: readonly Memory[], stream?: ReplyStream): void;
  /** Ends the stream of a request that gets no reply, where there are such. */
  endStream?(stream: ReplyStream): void;
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
  /**
   * One whole frame. It may be changed once the call returns, unless `memory`, when there is any, is retained. Its answer
   * is sent with the same `stream`.
   */
  frame(frame: Uint8Array, memory: Memory | undefined, stream?: ReplyStream): void;
  /** The peer gave up a request: if it waits, it ends. */
  cancelWaiting(request: number): void;
  /** The peer sent bytes that are no frame, or a frame could not be handled: nothing that follows can be read. */
  malformed(error: Error): void;
  settled(): void;
  /** The kernel took everything that was queued. */
  drained(): void;
  closed(): void;
}
