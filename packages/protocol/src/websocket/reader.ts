import { WebSocketCloseCode, WebSocketOpcode } from "./codes.js";
import { readHeader, sizeFromStart, type WebSocketHeader } from "./header.js";
import { unmask } from "./mask.js";
import { WebSocketError } from "./websocket-error.js";

/** Whether frames of the peer carry a mask: those of clients must, those of servers must not. */
export type MaskPolicy = "required" | "optional" | "forbidden";

/** Read at each frame, so they may change between frames. */
export interface WebSocketLimits {
  /** Payload of one frame, bytes. */
  readonly maxFrameBytes: number;
  /** Payload of all frames of one message, bytes. */
  readonly maxMessageBytes: number;
}

/** What a reader reports, in the order of the stream. */
export interface WebSocketEvents {
  /** A message of this kind, text or binary, begins. Throw a WebSocketError to refuse it. */
  messageStart(opcode: number): void;
  /** The next bytes of the message: a view of the chunk, unmasked in place, valid as long as the chunk is. */
  payload(bytes: Uint8Array): void;
  messageEnd(): void;
  /** A ping, pong or close; the payload may be kept. */
  control(opcode: number, payload: Uint8Array): void;
}

const HEADER_BYTES_MAX = 14;
const CONTROL_BYTES_MAX = 125;
const none = new Uint8Array(0);

/**
 * Reads the frames of one direction of a WebSocket connection. It holds a header or the payload of a control frame at
 * most, 125 bytes; payloads of messages are handed on as they arrive, without a copy. Extensions are not spoken.
 */
export class WebSocketReader {
  readonly #events: WebSocketEvents;
  readonly #limits: WebSocketLimits;
  readonly #masks: MaskPolicy;
  readonly #head = new Uint8Array(HEADER_BYTES_MAX);
  #headFilled = 0;
  /** The frame whose payload arrives. */
  #frame: WebSocketHeader | undefined;
  #left = 0;
  #taken = 0;
  readonly #key = new Uint8Array(4);
  #inMessage = false;
  #messageBytes = 0;
  #control = none;
  #isStopped = false;

  constructor(events: WebSocketEvents, limits: WebSocketLimits, masks: MaskPolicy) {
    this.#events = events;
    this.#limits = limits;
    this.#masks = masks;
  }

  /** Nothing of the stream is reported any more, also of the chunk that is being read. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Takes the next bytes. Throws a WebSocketError for what must not be; the stream can't be read on after that. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (!this.#isStopped) {
      if (this.#frame === undefined) at = this.#readHead(chunk, at);
      const frame = this.#frame;
      if (frame === undefined) return;
      const taken = Math.min(this.#left, chunk.length - at);
      if (taken > 0) this.#take(frame, chunk.subarray(at, at + taken));
      at += taken;
      if (this.#left > 0) return;
      this.#finish(frame);
      if (at === chunk.length) return;
    }
  }

  /** Goes on with a header. Returns how much of the chunk is read by then. */
  #readHead(chunk: Uint8Array, start: number): number {
    let at = start;
    while (at < chunk.length) {
      this.#head[this.#headFilled++] = chunk[at++] ?? 0;
      if (this.#headFilled < 2 || this.#headFilled < sizeFromStart(this.#head[1] ?? 0)) continue;
      const header = readHeader(this.#head);
      if (header.isMasked) this.#key.set(this.#head.subarray(this.#headFilled - 4, this.#headFilled));
      this.#headFilled = 0;
      this.#begin(header);
      return at;
    }
    return at;
  }

  #begin(header: WebSocketHeader): void {
    const { opcode, length } = header;
    if (header.reserved !== 0) throw broken("a frame uses an extension, and none was agreed on");
    if (header.isOverlong) throw broken("the length of a frame takes more bytes than it needs");
    if (header.isMasked ? this.#masks === "forbidden" : this.#masks === "required") {
      throw broken(header.isMasked ? "a frame of a server is masked" : "a frame of a client is not masked");
    }
    if (opcode >= WebSocketOpcode.close) this.#beginControl(header);
    else this.#beginData(header);
    this.#frame = header;
    this.#left = length;
    this.#taken = 0;
  }

  #beginControl({ opcode, isFinal, length }: WebSocketHeader): void {
    if (opcode > WebSocketOpcode.pong) throw broken(`unknown opcode ${String(opcode)}`);
    if (!isFinal || length > CONTROL_BYTES_MAX) throw broken("a control frame is in parts, or above 125 bytes");
    this.#control = length === 0 ? none : new Uint8Array(length);
  }

  #beginData({ opcode, length }: WebSocketHeader): void {
    const { maxFrameBytes, maxMessageBytes } = this.#limits;
    if (opcode > WebSocketOpcode.binary) throw broken(`unknown opcode ${String(opcode)}`);
    if ((opcode === WebSocketOpcode.continuation) !== this.#inMessage) {
      throw broken(this.#inMessage ? "a message begins inside another one" : "a continuation of no message");
    }
    if (length > maxFrameBytes) throw tooBig("frame", length, maxFrameBytes);
    if (this.#messageBytes + length > maxMessageBytes) {
      throw tooBig("message", this.#messageBytes + length, maxMessageBytes);
    }
    if (!this.#inMessage) {
      this.#inMessage = true;
      this.#events.messageStart(opcode);
    }
    this.#messageBytes += length;
  }

  #take(frame: WebSocketHeader, bytes: Uint8Array): void {
    if (frame.isMasked) unmask(bytes, this.#key, this.#taken & 3);
    if (frame.opcode >= WebSocketOpcode.close) this.#control.set(bytes, this.#taken);
    this.#taken += bytes.length;
    this.#left -= bytes.length;
    if (frame.opcode < WebSocketOpcode.close) this.#events.payload(bytes);
  }

  #finish({ opcode, isFinal }: WebSocketHeader): void {
    this.#frame = undefined;
    if (opcode >= WebSocketOpcode.close) {
      const control = this.#control;
      this.#control = none;
      this.#events.control(opcode, control);
    } else if (isFinal) {
      this.#inMessage = false;
      this.#messageBytes = 0;
      this.#events.messageEnd();
    }
  }
}

const broken = (message: string): WebSocketError => new WebSocketError(WebSocketCloseCode.protocolError, message);

const tooBig = (what: string, bytes: number, limit: number): WebSocketError =>
  new WebSocketError(
    WebSocketCloseCode.tooBig,
    `a ${what} of ${String(bytes)} bytes exceeds the limit of ${String(limit)}`,
  );
