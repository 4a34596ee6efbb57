import { ErrorCode } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import { letGo } from "../memory/let-go.js";
import type { Clock } from "../request.js";
import type { Channel, ChannelEvents, ReplyStream } from "./channel.js";

/** The session that a connection acts for. Set by a login or a bind, cleared when the session ends. */
export interface SessionBinding {
  readonly client: bigint;
  readonly session: number;
  readonly userId: number;
}

export interface ConnectionLimits {
  /** Largest frame a client may send, header included. */
  readonly maxFrameBytes: number;
  /** The same before it is signed in: room for a login, and little for whoever only wants to fill memory. */
  readonly maxUnboundFrameBytes: number;
  /** Requests of one connection that may be under way; reading stops above it. */
  readonly inFlightMax: number;
  /** Bytes that the requests under way may hold; reading stops above it. */
  readonly inFlightBytesHigh: number;
  /** Reply bytes that may wait for a slow peer before reading stops. */
  readonly queuedBytesHigh: number;
  /** Reply bytes above which a peer that does not read loses its connection. */
  readonly queuedBytesMax: number;
}

/** Ends a read that waits on the server, with the code that answers it. */
type Cancel = (code: number) => void;

export interface ConnectionHandler {
  /** One whole frame; see `ChannelEvents`. */
  frame(connection: Connection, frame: Uint8Array, memory: Memory | undefined, stream: ReplyStream): void;
  /** The connection can't be read on; it is closed by the caller. */
  malformed(connection: Connection, error: Error): void;
  closed(connection: Connection): void;
}

/**
 * One client connection: frames in, replies out, and the bounds between them. It reads no further while too many
 * requests are under way or too many reply bytes wait, so a client can't make the server buffer without limit.
 */
export class Connection implements ChannelEvents {
  /** Number of this connection within the process; clients see it as their client id. */
  readonly id: number;
  readonly transport: number;
  readonly channel: Channel;
  binding: SessionBinding | undefined;
  /** A login of this connection is being verified or committed. */
  loginUnderWay = false;
  private readonly clock: Clock;
  private receivedMillis: number;
  private readonly handler: ConnectionHandler;
  private readonly limits: ConnectionLimits;
  private readonly waiting = new Map<number, Cancel>();
  private inFlight = 0;
  private inFlightBytes = 0;
  private paused = false;
  private open = true;
  private ending = false;

  constructor(
    id: number,
    transport: number,
    channel: Channel,
    handler: ConnectionHandler,
    limits: ConnectionLimits,
    clock: Clock,
  ) {
    this.id = id;
    this.transport = transport;
    this.channel = channel;
    this.handler = handler;
    this.limits = limits;
    this.clock = clock;
    this.receivedMillis = clock.monotonicMillis();
  }

  get isOpen(): boolean {
    return this.open;
  }

  get requestsInFlight(): number {
    return this.inFlight;
  }

  /**
   * When something was last heard of the peer, monotonic milliseconds: any bytes, as a large frame may take long to
   * arrive. A peer that is not listened to counts as heard.
   */
  get heardMillis(): number {
    const now = this.clock.monotonicMillis();
    if (this.paused) return now;
    return Math.max(this.receivedMillis, now - (this.channel.quietMillis ?? Infinity));
  }

  get maxFrameBytes(): number {
    const { maxFrameBytes, maxUnboundFrameBytes } = this.limits;
    return this.binding === undefined ? Math.min(maxUnboundFrameBytes, maxFrameBytes) : maxFrameBytes;
  }

  heard(): void {
    if (this.serves) this.receivedMillis = this.clock.monotonicMillis();
  }

  frame(frame: Uint8Array, memory: Memory | undefined, stream?: ReplyStream): void {
    if (this.serves) this.handler.frame(this, frame, memory, stream);
  }

  malformed(error: Error): void {
    if (!this.serves) return;
    this.handler.malformed(this, error);
    this.destroy();
  }

  settled(): void {
    this.regulate();
  }

  drained(): void {
    this.regulate();
  }

  closed(): void {
    if (!this.open) return;
    this.open = false;
    this.endWaiting(ErrorCode.TransientNotAccepted);
    this.waiting.clear();
    this.handler.closed(this);
  }

  /** A request of so many bytes enters; `finishRequest` must follow exactly once. */
  beginRequest(bytes: number): void {
    this.inFlight++;
    this.inFlightBytes += bytes;
  }

  finishRequest(bytes: number): void {
    this.inFlight--;
    this.inFlightBytes -= bytes;
    this.regulate();
  }

  /** Remembers a read that waits, so that a cancel or the end of the connection or its session reaches it. */
  addWaiting(request: number, cancel: Cancel): void {
    if (this.open) this.waiting.set(request, cancel);
    else queueMicrotask(() => cancel(ErrorCode.TransientNotAccepted));
  }

  removeWaiting(request: number): void {
    this.waiting.delete(request);
  }

  cancelWaiting(request: number): void {
    this.waiting.get(request)?.(ErrorCode.TransientNotAccepted);
  }

  /** Ends every read that waits. */
  endWaiting(code: number): void {
    for (const cancel of [...this.waiting.values()]) cancel(code);
  }

  /** Sends the pieces back to back; see `Channel`. */
  send(pieces: readonly Uint8Array[], memory: readonly Memory[] = [], stream?: ReplyStream): void {
    if (!this.open) {
      letGo(memory);
      return;
    }
    this.channel.send(pieces, memory, stream);
    if (this.channel.queuedBytes > this.limits.queuedBytesMax) this.destroy();
    else this.regulate();
  }

  /** A request gets no reply. */
  endStream(stream: ReplyStream): void {
    if (this.open) this.channel.endStream?.(stream);
  }

  /** Sends what is queued, then closes. Frames that come meanwhile are not looked at. */
  end(): void {
    if (!this.serves) return;
    this.ending = true;
    this.channel.end();
    // What the peer still sends is read and dropped: only so its end, or its reset, is noticed.
    this.channel.resume();
  }

  destroy(): void {
    this.channel.destroy();
    this.closed();
  }

  private get serves(): boolean {
    return this.open && !this.ending;
  }

  private regulate(): void {
    const { inFlightMax, inFlightBytesHigh, queuedBytesHigh } = this.limits;
    const isBusy = this.inFlight >= inFlightMax || this.inFlightBytes > inFlightBytesHigh;
    const full = isBusy || this.channel.queuedBytes > queuedBytesHigh;
    if (full === this.paused || !this.serves) return;
    this.paused = full;
    if (full) this.channel.pause();
    else this.channel.resume();
  }
}
