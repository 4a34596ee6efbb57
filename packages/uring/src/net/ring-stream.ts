import type { Block } from "../memory/index.js";
import { CompletionFlag, type Completion, Errno, POLL_OUT, type Ring, RingError, systemError } from "../ring/index.js";
import { addressText } from "./address-text.js";
import { BUFFERS_PER_MESSAGE, type MessageTable } from "./message-tables.js";
import { SendQueue } from "./send-queue.js";
import { Sender, type Sending } from "./sender.js";
import type { StreamHandler } from "./stream-handler.js";

const RECEIVE = 0;
const SEND = 1;
const WRITABLE = 2;

const SHUT_SENDING = 1;
const SHUT_BOTH = 2;
const WOULD_WAIT = -1;
/** When to try again to receive on a ring that had no room for another operation. */
const FULL_RETRY_MILLIS = 5;

/**
 * A connected socket on a ring. It begins paused: `resume()` starts to receive. Received bytes lie where the handler
 * wants them; what is sent during one turn of the event loop leaves together, in one system call for all streams.
 *
 * The descriptor is closed when both sides have ended, or after `destroy()`, as soon as the kernel uses no block any
 * more.
 */
export class RingStream implements Completion, Sending {
  readonly descriptor: number;
  private readonly ring: Ring;
  private readonly handler: StreamHandler;
  private readonly sender: Sender;
  private readonly queue: SendQueue;
  private isPaused = true;
  private isReceiving = false;
  /** The handler looks at what arrived; it is asked for the next buffer once it is done, whatever it calls meanwhile. */
  private isDelivering = false;
  private isSending = false;
  private isScheduled = false;
  private hasMore = false;
  private receiveBlock: Block | undefined;
  /** Bytes that arrived while the stream was paused. */
  private parkedBytes = 0;
  private table: MessageTable | undefined;
  private hasReceivedEnd = false;
  private isEnding = false;
  private hasSentEnd = false;
  private failure: Error | undefined;
  private isDestroyed = false;
  private isClosed = false;
  private peer: string | undefined;

  constructor(ring: Ring, descriptor: number, handler: StreamHandler) {
    this.ring = ring;
    this.descriptor = descriptor;
    this.handler = handler;
    this.sender = Sender.of(ring);
    this.queue = new SendQueue(ring.slab, this.sender.memory);
    ring.addon.socketOption(descriptor, "noDelay", 1);
    this.sender.add(this);
  }

  /** `ip:port` of the peer; of one that was gone before anybody asked `unknown:0`. */
  get peerAddress(): string {
    this.peer ??= this.findPeer();
    return this.peer;
  }

  /** Bytes handed over and not yet taken by the kernel. */
  get queuedBytes(): number {
    return this.queue.queuedBytes;
  }

  /** Milliseconds since something last arrived, also while a large frame is being received; 0 for a closed stream. */
  get quietMillis(): number {
    return this.isClosed ? 0 : this.ring.addon.socketQuietMillis(this.descriptor);
  }

  /**
   * Sends the pieces back to back. Those that lie in the slab are sent from there and must not change until `done`, which
   * is called in order once the kernel took everything, or the stream is closed; the others are copied at once.
   */
  send(pieces: readonly Uint8Array[], done?: () => void): void {
    if (this.isDestroyed || this.isEnding) {
      if (done !== undefined) process.nextTick(done);
      return;
    }
    this.queue.add(pieces, done);
    this.schedule();
  }

  /** Receives no more than what is under way, and keeps that until `resume`. */
  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    if (this.parkedBytes > 0 && !this.isDestroyed) process.nextTick(this.unpark);
    else this.receive();
  }

  /** Sends what is queued, then ends this side. Receiving goes on; a peer that never ends its side needs `destroy`. */
  end(): void {
    if (this.isEnding || this.isDestroyed) return;
    this.isEnding = true;
    this.schedule();
  }

  /** Ends both sides at once. What is queued is dropped. */
  destroy(): void {
    if (this.isDestroyed || this.isClosed) return;
    this.isDestroyed = true;
    // Makes the kernel end what it works on.
    if (this.isReceiving || this.isSending) this.ring.addon.socketShutdown(this.descriptor, SHUT_BOTH);
    this.closeWhenIdle();
  }

  completed(result: number, tag: number, flags: number): void {
    if (tag === RECEIVE) this.receiveCompleted(result, flags);
    else if (tag === SEND) this.sendCompleted(result);
    else this.writableCompleted(result);
  }

  /** Called by the sender once per turn. */
  flush(): void {
    this.isScheduled = false;
    if (this.isSending || this.isDestroyed || this.hasSentEnd) return;
    try {
      this.sendNext();
    } catch (error) {
      if (!(error instanceof RingError)) throw error;
      // Full: completions are on their way and bring the next turn.
      if (error.code === "ERR_RING_FULL") this.schedule();
      else this.fail(error);
    }
  }

  private receive(): void {
    if (
      this.isDelivering ||
      this.isPaused ||
      this.isReceiving ||
      this.hasReceivedEnd ||
      this.isDestroyed ||
      this.parkedBytes > 0
    )
      return;
    const room = this.handler.buffer();
    if (room === undefined) return;
    const { block, offset, length, exact } = room;
    if (offset < 0 || length < 1 || offset + length > block.bytes.length) {
      throw new RangeError(`a receive of ${length} bytes at ${offset} is outside its block of ${block.bytes.length}`);
    }
    const waitsFirst = !exact && !this.hasMore;
    try {
      this.ring.receive(this.descriptor, block.offset + offset, length, exact, waitsFirst, this, RECEIVE);
    } catch (error) {
      if (!(error instanceof RingError)) throw error;
      if (error.code === "ERR_RING_FULL") setTimeout(() => this.receive(), FULL_RETRY_MILLIS);
      else this.fail(error);
      return;
    }
    this.isReceiving = true;
    block.retain();
    this.receiveBlock = block;
  }

  private receiveCompleted(result: number, flags: number): void {
    this.isReceiving = false;
    this.hasMore = (flags & CompletionFlag.socketHasMore) !== 0;
    this.receiveBlock?.release();
    this.receiveBlock = undefined;
    if (this.isDestroyed) this.closeWhenIdle();
    else if (result > 0) this.deliver(result);
    else if (result === 0) {
      this.hasReceivedEnd = true;
      this.handler.ended(undefined);
      this.closeWhenIdle();
    } else if (isPassing(result)) this.receive();
    else this.fail(systemError(-result, "recv"));
  }

  private deliver(bytes: number): void {
    if (this.isPaused) {
      this.parkedBytes = bytes;
      return;
    }
    this.isDelivering = true;
    try {
      this.handler.received(bytes);
    } finally {
      this.isDelivering = false;
    }
    this.receive();
  }

  private readonly unpark = (): void => {
    const bytes = this.parkedBytes;
    if (this.isPaused || bytes === 0 || this.isDestroyed) return;
    this.parkedBytes = 0;
    this.deliver(bytes);
  };

  private schedule(): void {
    if (this.isScheduled || this.isSending) return;
    this.isScheduled = true;
    this.sender.schedule(this);
  }

  private sendNext(): void {
    const { queue, ring, descriptor } = this;
    if (queue.spans === 0) {
      if (this.isEnding) this.shutSending();
      return;
    }
    const foreign = queue.foreignBytes();
    if (foreign !== undefined) {
      this.sendForeign(foreign);
      return;
    }
    const spans = this.gather();
    this.table = spans > 1 ? this.sender.tables.fill(queue, spans) : undefined;
    if (this.table === undefined) {
      ring.send(descriptor, queue.offset(0), queue.length(0), this, SEND);
      queue.begin(1);
    } else {
      ring.sendMessage(descriptor, this.table.block.offset, this, SEND);
      queue.begin(spans);
    }
    this.isSending = true;
  }

  /** How many spans go into one message: as many as a table has room for, up to bytes that lie outside the slab. */
  private gather(): number {
    const most = Math.min(this.queue.spans, BUFFERS_PER_MESSAGE);
    let spans = 1;
    while (spans < most && this.queue.offset(spans) !== -1) spans++;
    return spans;
  }

  /** Out of memory in the slab: what the kernel takes without waiting, directly from where it lies. */
  private sendForeign(bytes: Uint8Array): void {
    let taken: number;
    try {
      taken = this.ring.addon.socketSend(this.descriptor, [bytes]);
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if (taken === WOULD_WAIT) {
      this.ring.poll(this.descriptor, POLL_OUT, this, WRITABLE);
      this.isSending = true;
    } else {
      this.queue.take(taken);
      this.schedule();
    }
  }

  private sendCompleted(result: number): void {
    this.isSending = false;
    if (this.table !== undefined) this.sender.tables.release(this.table);
    this.table = undefined;
    if (result >= 0) this.queue.take(result);
    this.afterSend(result, "send");
  }

  private writableCompleted(result: number): void {
    this.isSending = false;
    this.afterSend(result, "poll");
  }

  private afterSend(result: number, syscall: string): void {
    if (this.isDestroyed) this.closeWhenIdle();
    else if (result < 0 && !isPassing(result)) this.fail(systemError(-result, syscall));
    else if (this.queue.spans > 0 || this.isEnding) this.schedule();
  }

  private shutSending(): void {
    this.hasSentEnd = true;
    this.ring.addon.socketShutdown(this.descriptor, SHUT_SENDING);
    this.closeWhenIdle();
  }

  /** The connection broke. */
  private fail(error: Error): void {
    if (this.isDestroyed) return;
    this.failure = error;
    const wasEnded = this.hasReceivedEnd;
    this.hasReceivedEnd = true;
    if (!wasEnded) process.nextTick(() => this.handler.ended(error));
    this.destroy();
  }

  private closeWhenIdle(): void {
    const isOver = this.isDestroyed || (this.hasReceivedEnd && this.hasSentEnd);
    if (!isOver || this.isReceiving || this.isSending || this.isClosed) return;
    this.peer ??= this.findPeer();
    this.isClosed = this.isDestroyed = true;
    this.sender.remove(this);
    this.ring.addon.socketClose(this.descriptor);
    process.nextTick(() => {
      this.queue.drop();
      this.handler.closed(this.failure);
    });
  }

  private findPeer(): string {
    if (this.isClosed) return "unknown:0";
    try {
      const { address, port } = this.ring.addon.socketAddress(this.descriptor, true);
      return addressText(address, port);
    } catch {
      // The peer was gone first.
      return "unknown:0";
    }
  }
}

/** Nothing happened, and the operation may be tried again. */
function isPassing(result: number): boolean {
  return result === -Errno.interrupted || result === -Errno.again;
}
