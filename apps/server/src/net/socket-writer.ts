import type { Socket } from "node:net";
import type { Memory } from "@iggy/storage";
import { letGo } from "../memory/let-go.js";

/** Writes pieces to a TCP or TLS socket without joining them. Writes of one loop turn leave in one system call. */
export class SocketWriter {
  private readonly socket: Socket;
  private corked = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** `memory`, in which some of the pieces lie, is let go of when they are sent, or never will be. */
  write(pieces: readonly Uint8Array[], memory: readonly Memory[] = []): void {
    const { socket } = this;
    if (socket.destroyed || socket.writableEnded || pieces.length === 0) {
      letGo(memory);
      return;
    }
    if (!this.corked) {
      this.corked = true;
      socket.cork();
      process.nextTick(this.uncork);
    }
    const last = memory.length === 0 ? -1 : pieces.length - 1;
    pieces.forEach((piece, at) => {
      // Called when the kernel took the piece, or with an error when it never will.
      if (at === last) {
        socket.write(piece, () => {
          letGo(memory);
        });
      } else socket.write(piece);
    });
  }

  private readonly uncork = (): void => {
    this.corked = false;
    this.socket.uncork();
  };
}
