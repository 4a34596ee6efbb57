import { FrameAssembler } from "@iggy/protocol";
import { asError } from "../as-error.js";
import type { ChannelEvents } from "./channel.js";

/** Cuts the chunks of a socket, which belong to the garbage collector, into frames. */
export class ChunkFraming {
  private readonly events: ChannelEvents;
  private readonly assembler = new FrameAssembler();

  constructor(events: ChannelEvents) {
    this.events = events;
  }

  take(chunk: Uint8Array): void {
    const { events, assembler } = this;
    events.heard();
    assembler.maxFrameSize = events.maxFrameBytes;
    try {
      assembler.push(chunk, (frame) => {
        events.frame(frame, undefined);
        assembler.maxFrameSize = events.maxFrameBytes;
      });
    } catch (error) {
      events.malformed(asError(error));
    }
    events.settled();
  }
}
