import { FrameAssembler, WebSocketCloseCode, WebSocketError, WebSocketOpcode } from "@iggy/protocol";
import type { ChannelEvents } from "../channel.js";

/**
 * Makes protocol frames of the messages of a client: each binary message must hold exactly one. A message that lies whole
 * in one chunk stays where it is; any other is gathered in a buffer of its own, which grows as its bytes arrive.
 */
export class MessageFraming {
  private readonly events: ChannelEvents;
  private readonly assembler = new FrameAssembler();
  /** The frame of the message that is being received, once it is there. */
  private whole: Uint8Array | undefined;

  constructor(events: ChannelEvents) {
    this.events = events;
  }

  start(opcode: number): void {
    if (opcode === WebSocketOpcode.text) {
      throw new WebSocketError(WebSocketCloseCode.unsupportedData, "a text message, where frames come in binary ones");
    }
  }

  payload(bytes: Uint8Array): void {
    this.events.heard();
    if (this.whole !== undefined) throw mismatch();
    this.assembler.maxFrameSize = this.events.maxFrameBytes;
    this.assembler.push(bytes, this.found);
  }

  end(): void {
    const { whole } = this;
    if (whole === undefined || this.assembler.pendingBytes > 0) throw mismatch();
    this.whole = undefined;
    this.events.frame(whole, undefined);
  }

  private readonly found = (frame: Uint8Array): void => {
    if (this.whole !== undefined) throw mismatch();
    this.whole = frame;
  };
}

const mismatch = (): WebSocketError =>
  new WebSocketError(WebSocketCloseCode.invalidPayload, "a message does not hold exactly one frame");
