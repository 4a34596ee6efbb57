import type { Socket } from "node:net";
import {
  FrameError,
  type MaskPolicy,
  readWebSocketClose,
  WebSocketCloseCode,
  WebSocketError,
  WebSocketOpcode,
  WebSocketReader,
  webSocketHeaderSize,
  writeWebSocketClose,
  writeWebSocketHeader,
} from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import { asError } from "../../as-error.js";
import { letGo } from "../../memory/let-go.js";
import { timerMillis } from "../../timer-limit.js";
import type { Channel, ChannelEvents } from "../channel.js";
import { peerAddress } from "../peer-address.js";
import { SocketWriter } from "../socket-writer.js";
import { MessageFraming } from "./message-framing.js";

export interface WebSocketChannelOptions {
  /** Time that a peer has to close its side after the server ended its own. */
  readonly closeGraceMillis: number;
  /** Largest payload of one WebSocket frame; messages are bounded by the connection. */
  readonly maxFrameBytes: number;
  readonly masks: MaskPolicy;
}

/** Messages up to this size are sent as one piece with their header: a small copy costs less than a second write. */
const JOIN_BYTES_MAX = 4096;

/** A WebSocket behind its handshake, over TCP or TLS: one binary message in one WebSocket frame for each frame. */
export class WebSocketChannel implements Channel {
  readonly peerAddress: string;
  private readonly socket: Socket;
  private readonly options: WebSocketChannelOptions;
  private readonly writer: SocketWriter;
  private reader: WebSocketReader | undefined;
  /** The Close frame of this side is sent, so nothing may follow it. */
  private isClosing = false;
  /** What still arrives is dropped: the socket ends as soon as the peer took what it was sent. */
  private isLeaving = false;
  /** The last ping while the peer took nothing; earlier ones need no answer then. */
  private owedPong: Uint8Array | undefined;

  constructor(socket: Socket, options: WebSocketChannelOptions) {
    this.socket = socket;
    this.options = options;
    this.peerAddress = peerAddress(socket);
    this.writer = new SocketWriter(socket);
  }

  /** Starts to report, first what arrived behind the handshake. */
  attach(events: ChannelEvents, head: Uint8Array): void {
    const { socket } = this;
    const framing = new MessageFraming(events);
    const { maxFrameBytes } = this.options;
    const reader = new WebSocketReader(
      {
        messageStart: (opcode) => framing.start(opcode),
        payload: (bytes) => framing.payload(bytes),
        messageEnd: () => framing.end(),
        control: (opcode, payload) => this.control(opcode, payload),
      },
      {
        get maxFrameBytes() {
          return Math.min(maxFrameBytes, events.maxFrameBytes);
        },
        get maxMessageBytes() {
          return events.maxFrameBytes;
        },
      },
      this.options.masks,
    );
    this.reader = reader;
    const take = (chunk: Uint8Array): void => {
      if (this.isLeaving) return;
      try {
        reader.push(chunk);
      } catch (error) {
        this.refuse(asError(error), events);
      }
      events.settled();
    };
    socket.on("data", take);
    socket.on("drain", () => {
      this.answerPing();
      events.drained();
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => events.closed());
    if (head.length > 0) take(head);
  }

  get queuedBytes(): number {
    return this.socket.writableLength;
  }

  send(pieces: readonly Uint8Array[], memory: readonly Memory[] = []): void {
    if (this.isClosing) {
      letGo(memory);
      return;
    }
    let length = 0;
    for (const piece of pieces) length += piece.length;
    const headerSize = webSocketHeaderSize(length, false);
    if (length > JOIN_BYTES_MAX) {
      const header = new Uint8Array(headerSize);
      writeWebSocketHeader(header, WebSocketOpcode.binary, length);
      this.writer.write([header, ...pieces], memory);
      return;
    }
    this.writer.write([wholeFrame(WebSocketOpcode.binary, pieces, headerSize, length)]);
    letGo(memory);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Closes with a Close frame, which the peer answers with its own. */
  end(): void {
    this.close(WebSocketCloseCode.normal);
    this.limitEnd();
  }

  destroy(): void {
    // A peer that broke the rules is told so; the grace bounds how long it may take to hear it.
    if (!this.isLeaving) this.socket.destroy();
  }

  private control(opcode: number, payload: Uint8Array): void {
    if (opcode === WebSocketOpcode.ping) {
      this.owedPong = payload;
      if (!this.socket.writableNeedDrain) this.answerPing();
    } else if (opcode === WebSocketOpcode.close) {
      readWebSocketClose(payload);
      // Its code is echoed, or the lack of one.
      this.sendClose(payload.subarray(0, 2));
      this.leave();
    }
  }

  private answerPing(): void {
    const { owedPong } = this;
    if (owedPong === undefined) return;
    this.owedPong = undefined;
    if (!this.isClosing) this.sendControl(WebSocketOpcode.pong, owedPong);
  }

  /** The peer broke the rules, or what it sent could not be handled. */
  private refuse(error: Error, events: ChannelEvents): void {
    const code = closeCodeOf(error);
    this.close(code, code === WebSocketCloseCode.internalError ? "" : error.message);
    this.leave();
    events.malformed(error);
  }

  private close(code: number, reason = ""): void {
    this.sendClose(writeWebSocketClose(code, reason));
  }

  private sendClose(payload: Uint8Array): void {
    if (this.isClosing) return;
    this.sendControl(WebSocketOpcode.close, payload);
    this.isClosing = true;
  }

  private sendControl(opcode: number, payload: Uint8Array): void {
    const headerSize = webSocketHeaderSize(payload.length, false);
    this.writer.write([wholeFrame(opcode, [payload], headerSize, payload.length)]);
  }

  /** Ends this side; what the peer still sends is read and dropped, so that it gets to what it was sent. */
  private leave(): void {
    this.isLeaving = true;
    this.reader?.stop();
    this.socket.end();
    this.socket.resume();
    this.limitEnd();
  }

  private limitEnd(): void {
    const { socket } = this;
    const timer = setTimeout(() => socket.destroy(), timerMillis(this.options.closeGraceMillis));
    timer.unref();
    socket.once("close", () => clearTimeout(timer));
  }
}

function wholeFrame(opcode: number, pieces: readonly Uint8Array[], headerSize: number, length: number): Uint8Array {
  const frame = Buffer.allocUnsafe(headerSize + length);
  let at = writeWebSocketHeader(frame, opcode, length);
  for (const piece of pieces) {
    frame.set(piece, at);
    at += piece.length;
  }
  return frame;
}

function closeCodeOf(error: Error): number {
  if (error instanceof WebSocketError) return error.closeCode;
  if (!(error instanceof FrameError)) return WebSocketCloseCode.internalError;
  return error.kind === "TooLarge" ? WebSocketCloseCode.tooBig : WebSocketCloseCode.invalidPayload;
}
