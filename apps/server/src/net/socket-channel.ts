import type { Socket } from "node:net";
import type { Memory } from "@iggy/storage";
import { letGo } from "../memory/let-go.js";
import { timerMillis } from "../timer-limit.js";
import type { Channel, ChannelEvents } from "./channel.js";
import { ChunkFraming } from "./chunk-framing.js";

/** A TCP or TLS socket as a channel. Writes of one loop turn leave in one system call. */
export class SocketChannel implements Channel {
  readonly peerAddress: string;
  private readonly socket: Socket;
  private readonly closeGraceMillis: number;
  private corked = false;

  constructor(socket: Socket, closeGraceMillis: number) {
    this.socket = socket;
    this.closeGraceMillis = closeGraceMillis;
    this.peerAddress = addressText(socket.remoteAddress, socket.remotePort);
  }

  /** Starts to report; called once, before anything is read. */
  attach(events: ChannelEvents): void {
    const framing = new ChunkFraming(events);
    this.socket.on("data", (chunk: Uint8Array) => framing.take(chunk));
    this.socket.on("drain", () => events.drained());
    // A reset by the peer is an ordinary end of a connection: "close" follows and does the clean-up.
    this.socket.on("error", () => undefined);
    this.socket.on("end", () => this.socket.end());
    this.socket.on("close", () => events.closed());
  }

  get queuedBytes(): number {
    return this.socket.writableLength;
  }

  send(pieces: readonly Uint8Array[], memory: readonly Memory[] = []): void {
    const release = (): void => {
      letGo(memory);
    };
    if (this.socket.destroyed || this.socket.writableEnded || pieces.length === 0) {
      release();
      return;
    }
    if (!this.corked) {
      this.corked = true;
      this.socket.cork();
      process.nextTick(this.uncork);
    }
    const last = memory.length === 0 ? -1 : pieces.length - 1;
    pieces.forEach((piece, at) => {
      // Called when the kernel took the piece, or with an error when it never will.
      if (at === last) this.socket.write(piece, release);
      else this.socket.write(piece);
    });
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.socket.end();
    const timer = setTimeout(() => this.socket.destroy(), timerMillis(this.closeGraceMillis));
    timer.unref();
    this.socket.once("close", () => clearTimeout(timer));
  }

  destroy(): void {
    this.socket.destroy();
  }

  private readonly uncork = (): void => {
    this.corked = false;
    this.socket.uncork();
  };
}

function addressText(address: string | undefined, port: number | undefined): string {
  const host = address ?? "unknown";
  const mapped = host.startsWith("::ffff:") && host.includes(".") ? host.slice(7) : host;
  return mapped.includes(":") ? `[${mapped}]:${port ?? 0}` : `${mapped}:${port ?? 0}`;
}
