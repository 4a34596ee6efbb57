import { checkFrameSize, FrameError, frameSize, HEADER_SIZE, RequestHeader } from "@iggy/protocol";
import type { QuicConnection, QuicConnectionHandler } from "@iggy/quic";
import type { Memory } from "@iggy/storage";
import { asError } from "../../as-error.js";
import { letGo } from "../../memory/let-go.js";
import type { Channel, ChannelEvents, ReplyStream } from "../channel.js";
import { CloseCode } from "./close-code.js";

export interface QuicChannelOptions {
  /** Time that a client has to take what was sent before the server closes. */
  readonly closeGraceMillis: number;
  readonly onClosed: (channel: QuicChannel) => void;
}

interface Arrived {
  readonly stream: number;
  readonly bytes: Uint8Array;
}

/**
 * One QUIC connection: each stream carries one request frame in and its reply out. QUIC reads no further while much is
 * not answered, so what a paused channel holds back here is bounded by that and by the streams that a client may open.
 */
export class QuicChannel implements Channel, QuicConnectionHandler {
  private readonly connection: QuicConnection;
  private readonly options: QuicChannelOptions;
  private readonly events: ChannelEvents;
  /** Streams without a reply, with the numbers of their requests. */
  private readonly requests = new Map<number, number>();
  private readonly held: Arrived[] = [];
  private readonly header = new RequestHeader();
  private frameBytesMax: number;
  private isPaused = false;
  private isResuming = false;
  private isEnding = false;
  private isFaulty = false;

  constructor(
    connection: QuicConnection,
    options: QuicChannelOptions,
    connect: (channel: QuicChannel) => ChannelEvents,
  ) {
    this.connection = connection;
    this.options = options;
    this.events = connect(this);
    this.frameBytesMax = this.events.maxFrameBytes;
    connection.setMessageLimit(this.frameBytesMax);
  }

  get peerAddress(): string {
    return this.connection.peerAddress;
  }

  get queuedBytes(): number {
    return this.connection.queuedBytes;
  }

  get quietMillis(): number {
    return this.connection.quietMillis;
  }

  send(pieces: readonly Uint8Array[], memory: readonly Memory[] = [], stream?: ReplyStream): void {
    // What answers no request, an eviction, ends the connection on whichever stream it comes.
    const target = stream ?? this.requests.keys().next().value;
    if (target !== undefined) this.respond(target, pieces);
    letGo(memory);
  }

  endStream(stream: ReplyStream): void {
    if (stream !== undefined) this.respond(stream, []);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    // A request that is answered at once comes back here before the loop goes on.
    if (this.isResuming) return;
    this.isResuming = true;
    while (!this.isStopped()) {
      const next = this.held.shift();
      if (next === undefined) break;
      this.take(next);
    }
    this.isResuming = false;
  }

  end(): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.connection.finish(CloseCode.shutdown, "", this.options.closeGraceMillis);
  }

  destroy(): void {
    this.connection.close(this.isFaulty ? CloseCode.protocolViolation : CloseCode.shutdown, "");
  }

  // What QUIC reports.

  message(stream: number, bytes: Uint8Array): void {
    this.requests.set(stream, 0);
    if (this.isPaused) this.held.push({ stream, bytes });
    else this.take({ stream, bytes });
  }

  stopped(stream: number): void {
    const request = this.requests.get(stream);
    if (request !== undefined) this.events.cancelWaiting(request);
  }

  drained(): void {
    this.events.drained();
  }

  closed(): void {
    this.requests.clear();
    this.held.length = 0;
    this.events.closed();
    this.options.onClosed(this);
  }

  private isStopped(): boolean {
    return this.isPaused;
  }

  private take({ stream, bytes }: Arrived): void {
    const { events } = this;
    events.heard();
    try {
      checkFrame(bytes, events.maxFrameBytes);
      this.requests.set(stream, this.header.at(bytes, 0).request);
      events.frame(bytes, undefined, stream);
    } catch (error) {
      this.isFaulty = true;
      events.malformed(asError(error));
    }
    events.settled();
  }

  private respond(stream: number, pieces: readonly Uint8Array[]): void {
    if (!this.requests.delete(stream)) return;
    // Before the client can read that it is signed in and may send more.
    const { maxFrameBytes } = this.events;
    if (maxFrameBytes !== this.frameBytesMax) {
      this.frameBytesMax = maxFrameBytes;
      this.connection.setMessageLimit(maxFrameBytes);
    }
    this.connection.respond(stream, pieces);
  }
}

/** A stream holds one frame, whole and alone. */
function checkFrame(bytes: Uint8Array, limit: number): void {
  const size = frameSize(bytes);
  if (size === undefined || bytes.length < HEADER_SIZE) {
    throw new FrameError("InvalidSize", `a stream of ${bytes.length} bytes is shorter than the header of a frame`);
  }
  checkFrameSize(size, limit);
  if (size !== bytes.length) {
    throw new FrameError("InvalidSize", `a stream of ${bytes.length} bytes carries a frame of ${size}`);
  }
}
