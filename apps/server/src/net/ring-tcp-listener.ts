import { type Addon, type Ring, RingListener } from "@iggy/uring";
import type { Listener } from "./listener.js";
import type { RingSockets } from "./ring-sockets.js";
import type { SocketSlots } from "./socket-slots.js";

/** Where an accepted socket went: to the sockets of this thread, to another thread with its slot, or nowhere. */
export type Seating = "here" | "elsewhere" | "refused";

export interface RingTcpListenerOptions {
  /** An address, not a name. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly addon: Addon;
  readonly ring: Ring;
  /** Sockets for which there is no slot are closed at accept. */
  readonly slots: SocketSlots;
  /** Serves them in this thread. */
  readonly sockets: RingSockets;
  /** Hands a socket to the thread whose turn it is. Without it all are served here. */
  readonly seat?: ((descriptor: number) => Seating) | undefined;
  /** Nothing can be accepted for the moment; the listener goes on. */
  readonly onError: (error: Error) => void;
}

const BACKLOG = 1024;

/** Accepts TCP connections on a ring. */
export class RingTcpListener implements Listener {
  private readonly options: RingTcpListenerOptions;
  private readonly listener: RingListener;

  /** Binds; throws the system's error, for example when the port is taken. */
  constructor(options: RingTcpListenerOptions) {
    this.options = options;
    this.listener = RingListener.listen(options.ring, {
      host: options.host,
      port: options.port,
      backlog: BACKLOG,
      onAccept: (descriptor) => this.accept(descriptor),
      onError: options.onError,
    });
  }

  get port(): number {
    return this.listener.port;
  }

  stopAccepting(): void {
    this.listener.close().catch(this.options.onError);
  }

  destroyConnections(): void {
    this.options.sockets.destroyAll();
  }

  close(): void {
    this.stopAccepting();
    this.destroyConnections();
  }

  private accept(descriptor: number): void {
    const { addon, slots, sockets, seat } = this.options;
    if (!slots.take()) {
      addon.socketClose(descriptor);
      return;
    }
    const seating = seat?.(descriptor) ?? "here";
    if (seating === "here") sockets.serve(descriptor);
    else if (seating === "refused") {
      addon.socketClose(descriptor);
      slots.free();
    }
  }
}
