import { ClientTransport } from "@iggy/protocol";
import { type Block, RingStream } from "@iggy/uring";
import { afterTimeout } from "../after-timeout.js";
import type { RingParts } from "../backend/index.js";
import { ReceiveMemory } from "../memory/receive-memory.js";
import type { Reception } from "./reception.js";
import { RingChannel } from "./ring-channel.js";
import type { SocketSlots } from "./socket-slots.js";

export interface RingSocketsDeps {
  readonly ring: RingParts;
  readonly reception: Reception;
  readonly slots: SocketSlots;
  readonly closeGraceMillis: number;
  /** Recent batches leave memory before a connection has to wait for some; see `ReceiveMemory`. */
  readonly evict: (bytes: number) => number;
  readonly log: { warn(fields: object, message: string): void };
}

/** As the kernel finds out without heartbeats that a peer is gone. */
const KEEP_ALIVE_IDLE_SECONDS = 60;

/** The accepted TCP sockets that are served on the ring of this thread. */
export class RingSockets {
  private readonly deps: RingSocketsDeps;
  private readonly memory: ReceiveMemory<Block>;
  private readonly channels = new Set<RingChannel>();

  constructor(deps: RingSocketsDeps) {
    this.deps = deps;
    this.memory = new ReceiveMemory({ pool: deps.ring.blocks, evict: deps.evict, after: afterTimeout });
  }

  /** Takes over a connected socket and its slot: both are given back when the connection has ended, or at once. */
  serve(descriptor: number): void {
    const { ring, reception, slots, closeGraceMillis } = this.deps;
    const { addon } = ring;
    let stream: RingStream | undefined;
    try {
      addon.socketOption(descriptor, "keepAlive", 1);
      addon.socketOption(descriptor, "keepAliveIdleSeconds", KEEP_ALIVE_IDLE_SECONDS);
      const channel = new RingChannel(
        {
          open: (handler) => (stream = new RingStream(ring.ring, descriptor, handler)),
          memory: this.memory,
          closeGraceMillis,
          onClosed: (closed) => {
            this.channels.delete(closed);
            slots.free();
          },
        },
        (opened) => reception.connect(ClientTransport.tcp, opened),
      );
      this.channels.add(channel);
    } catch (error) {
      // From then on the stream closes its socket.
      if (stream !== undefined) throw error;
      this.refuse(descriptor, error);
    }
  }

  destroyAll(): void {
    for (const channel of this.channels) channel.destroy();
  }

  private refuse(descriptor: number, error: unknown): void {
    const { ring, slots, log } = this.deps;
    ring.addon.socketClose(descriptor);
    slots.free();
    log.warn({ err: error }, "an accepted connection can't be served and was closed");
  }
}
