import type { Socket } from "node:net";
import type { Memory } from "@iggy/storage";
import { timerMillis } from "../timer-limit.js";
import type { Channel, ChannelEvents } from "./channel.js";
import { ChunkFraming } from "./chunk-framing.js";
import { peerAddress } from "./peer-address.js";
import { SocketWriter } from "./socket-writer.js";

/** A TCP or TLS socket as a channel. */
export class SocketChannel implements Channel {
  readonly peerAddress: string;
  private readonly socket: Socket;
  private readonly closeGraceMillis: number;
  private readonly writer: SocketWriter;

  constructor(socket: Socket, closeGraceMillis: number) {
    this.socket = socket;
    this.closeGraceMillis = closeGraceMillis;
    this.peerAddress = peerAddress(socket);
    this.writer = new SocketWriter(socket);
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
    this.writer.write(pieces, memory);
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
}
