import { addressText } from "./address-text.js";
import {
  CompletionFlag,
  type Completion,
  Errno,
  type Ring,
  RingError,
  SOCKET_CLOSE_ON_EXEC,
  systemError,
} from "../ring/index.js";

export interface RingListenerOptions {
  /** An address, not a name. `::` takes IPv4 as well. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Connections that may wait to be accepted. Default 1024. */
  readonly backlog?: number;
  /** Lets listeners of other threads or processes share the port. Default false. */
  readonly sharesPort?: boolean;
  /** A connected socket. Whoever gets it closes it, here or in another thread. */
  readonly onAccept: (descriptor: number) => void;
  /** Nothing can be accepted for the moment, for example for want of descriptors. The listener goes on. */
  readonly onError?: (error: Error) => void;
}

const BACKLOG_DEFAULT = 1024;
/** Before the next attempt when the system refused to accept. */
const RETRY_MILLIS = 100;
const SHUT_BOTH = 2;
/** The connection was gone before it was taken. */
const PASSING = new Set([103, 71, 104, Errno.interrupted, Errno.again]);

/** The system's error, with the address that it concerns. */
function bind(ring: Ring, host: string, port: number, backlog: number, sharesPort: boolean): number {
  try {
    return ring.addon.socketListen(host, port, backlog, sharesPort);
  } catch (error) {
    if (error instanceof Error) error.message += ` ${addressText(host, port)}`;
    throw error;
  }
}

/** Accepts connections, many with one operation. */
export class RingListener implements Completion {
  readonly descriptor: number;
  readonly port: number;
  private readonly ring: Ring;
  private readonly options: RingListenerOptions;
  private operation: bigint | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isClosing = false;
  private finished: (() => void) | undefined;
  private closed: Promise<void> | undefined;

  private constructor(ring: Ring, options: RingListenerOptions) {
    const { host, port, backlog = BACKLOG_DEFAULT, sharesPort = false } = options;
    this.ring = ring;
    this.options = options;
    this.descriptor = bind(ring, host, port, backlog, sharesPort);
    this.port = ring.addon.socketAddress(this.descriptor, false).port;
  }

  /** Binds and starts to accept; throws the system's error, for example when the port is taken. */
  static listen(ring: Ring, options: RingListenerOptions): RingListener {
    const listener = new RingListener(ring, options);
    listener.accept();
    return listener;
  }

  /** Stops to accept. Connections that were accepted stay. */
  close(): Promise<void> {
    this.closed ??= this.stop();
    return this.closed;
  }

  completed(result: number, _tag: number, flags: number): void {
    const isLast = (flags & CompletionFlag.more) === 0;
    if (isLast) this.operation = undefined;
    if (result >= 0) this.accepted(result);
    if (!isLast) return;
    if (this.isClosing || result === -Errno.canceled) this.finished?.();
    else if (result >= 0 || PASSING.has(-result)) this.accept();
    else {
      this.timer = setTimeout(() => this.accept(), RETRY_MILLIS);
      this.options.onError?.(systemError(-result, "accept"));
    }
  }

  private accepted(descriptor: number): void {
    if (this.isClosing) this.ring.addon.socketClose(descriptor);
    else this.options.onAccept(descriptor);
  }

  private accept(): void {
    if (this.isClosing) return;
    try {
      this.operation = this.ring.acceptAll(this.descriptor, SOCKET_CLOSE_ON_EXEC, this, 0);
    } catch (error) {
      if (!(error instanceof RingError)) throw error;
      // A closed ring accepts nothing any more.
      if (error.code !== "ERR_RING_FULL") return;
      this.timer = setTimeout(() => this.accept(), RETRY_MILLIS);
    }
  }

  private cancel(operation: bigint): void {
    try {
      this.ring.cancel(operation);
    } catch (error) {
      if (!(error instanceof RingError)) throw error;
      // No room for another operation: this ends the one that accepts as well.
      this.ring.addon.socketShutdown(this.descriptor, SHUT_BOTH);
    }
  }

  private async stop(): Promise<void> {
    this.isClosing = true;
    clearTimeout(this.timer);
    const { operation } = this;
    if (operation !== undefined && this.ring.isOpen) {
      await new Promise<void>((resolve) => {
        this.finished = resolve;
        this.cancel(operation);
      });
    }
    this.ring.addon.socketClose(this.descriptor);
  }
}
