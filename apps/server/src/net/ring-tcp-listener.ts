import { type Block, RingListener, RingStream } from "@iggy/uring";
import type { RingParts } from "../backend/index.js";
import type { ReceiveMemory } from "../memory/receive-memory.js";
import type { ChannelEvents } from "./channel.js";
import type { Listener } from "./listener.js";
import { RingChannel } from "./ring-channel.js";
import type { SocketSlots } from "./socket-slots.js";

export interface RingTcpListenerOptions {
  /** An address, not a name. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly closeGraceMillis: number;
  /** Sockets for which there is no slot are closed at accept. */
  readonly slots: SocketSlots;
  readonly onChannel: (channel: RingChannel) => ChannelEvents;
  /** Nothing can be accepted for the moment; the listener goes on. */
  readonly onError: (error: Error) => void;
}

/** As the kernel finds out without heartbeats that a peer is gone. */
const KEEP_ALIVE_IDLE_SECONDS = 60;
const BACKLOG = 1024;

/** Accepts TCP connections on a ring. */
export class RingTcpListener implements Listener {
  private readonly parts: RingParts;
  private readonly memory: ReceiveMemory<Block>;
  private readonly options: RingTcpListenerOptions;
  private readonly listener: RingListener;
  private readonly channels = new Set<RingChannel>();

  /** Binds; throws the system's error, for example when the port is taken. */
  constructor(parts: RingParts, memory: ReceiveMemory<Block>, options: RingTcpListenerOptions) {
    this.parts = parts;
    this.memory = memory;
    this.options = options;
    this.listener = RingListener.listen(parts.ring, {
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
    for (const channel of this.channels) channel.destroy();
  }

  close(): void {
    this.stopAccepting();
    this.destroyConnections();
  }

  private accept(descriptor: number): void {
    const { addon, ring } = this.parts;
    const { slots } = this.options;
    if (!slots.take()) {
      addon.socketClose(descriptor);
      return;
    }
    addon.socketOption(descriptor, "keepAlive", 1);
    addon.socketOption(descriptor, "keepAliveIdleSeconds", KEEP_ALIVE_IDLE_SECONDS);
    const channel = new RingChannel(
      {
        open: (handler) => new RingStream(ring, descriptor, handler),
        memory: this.memory,
        closeGraceMillis: this.options.closeGraceMillis,
        onClosed: (closed) => {
          this.channels.delete(closed);
          slots.free();
        },
      },
      this.options.onChannel,
    );
    this.channels.add(channel);
  }
}
