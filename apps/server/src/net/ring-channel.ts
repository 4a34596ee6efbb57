import type { Memory } from "@iggy/storage";
import { letGo } from "../memory/let-go.js";
import type { Block, ReceiveBuffer, RingStream, StreamHandler } from "@iggy/uring";
import type { MemoryWaiter, ReceiveMemory } from "../memory/receive-memory.js";
import { timerMillis } from "../timer-limit.js";
import { BlockFraming } from "./block-framing.js";
import type { Channel, ChannelEvents } from "./channel.js";

export interface RingChannelDeps {
  /** Takes the socket over and begins to receive. */
  readonly open: (handler: StreamHandler) => RingStream;
  readonly memory: ReceiveMemory<Block>;
  /** Time that a peer has to close its side after the server ended its own. */
  readonly closeGraceMillis: number;
  /** The channel holds nothing any more. */
  readonly onClosed: (channel: RingChannel) => void;
}

/** A TCP socket on an io_uring ring: it is received into pooled blocks, and sent out of them. */
export class RingChannel implements Channel, StreamHandler, MemoryWaiter {
  private readonly deps: RingChannelDeps;
  private readonly stream: RingStream;
  private readonly framing: BlockFraming<Block>;
  private readonly events: ChannelEvents;
  private grace: NodeJS.Timeout | undefined;
  private isPaused = false;
  private isEnding = false;
  private isOver = false;

  constructor(deps: RingChannelDeps, connect: (channel: RingChannel) => ChannelEvents) {
    this.deps = deps;
    this.stream = deps.open(this);
    this.events = connect(this);
    this.framing = new BlockFraming(this.events, (bytes) => deps.memory.allocate(bytes));
    this.stream.resume();
  }

  get peerAddress(): string {
    return this.stream.peerAddress;
  }

  get queuedBytes(): number {
    return this.stream.queuedBytes;
  }

  /** A large frame is reported when all of it is there, which may take long. */
  get quietMillis(): number {
    return this.stream.quietMillis;
  }

  send(pieces: readonly Uint8Array[], memory: readonly Memory[] = []): void {
    const sent = (): void => {
      letGo(memory);
      if (!this.isOver) this.events.drained();
    };
    if (this.isOver || this.isEnding || pieces.length === 0) sent();
    else this.stream.send(pieces, sent);
  }

  pause(): void {
    this.isPaused = true;
    this.stream.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.stream.resume();
  }

  end(): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.stream.end();
    this.grace = setTimeout(() => this.stream.destroy(), timerMillis(this.deps.closeGraceMillis));
    this.grace.unref();
  }

  destroy(): void {
    this.stream.destroy();
  }

  // What the ring reports.

  buffer(): ReceiveBuffer | undefined {
    const landing = this.framing.landing();
    if (landing === undefined && !this.framing.isClosed) this.deps.memory.wait(this);
    return landing;
  }

  received(bytes: number): void {
    this.framing.received(bytes);
  }

  ended(): void {
    // A reset by the peer is an ordinary end of a connection. What is queued is still sent; with both sides ended the
    // stream closes.
    this.framing.close();
    this.end();
  }

  closed(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.grace);
    this.deps.memory.forget(this);
    this.framing.close();
    this.events.closed();
    this.deps.onClosed(this);
  }

  // Waiting for memory.

  retry(): boolean {
    if (this.framing.isClosed) return true;
    if (this.framing.landing() === undefined) return false;
    if (!this.isPaused) this.stream.resume();
    return true;
  }

  giveUp(): void {
    this.destroy();
  }
}
