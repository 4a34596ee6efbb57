import type { Server, Socket } from "node:net";
import type { SocketSlots } from "./socket-slots.js";

/** The sockets of one `node:net`, TLS or HTTP server from the accept on, also while a handshake is under way. */
export class AcceptedSockets {
  private readonly sockets = new Set<Socket>();
  private readonly slots: SocketSlots;

  constructor(server: Server, slots: SocketSlots) {
    this.slots = slots;
    // Before the server looks at it: a socket above the limit is gone by then.
    server.prependListener("connection", (socket: Socket) => {
      this.enter(socket);
    });
  }

  destroyAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private enter(socket: Socket): void {
    if (!this.slots.take()) {
      socket.destroy();
      return;
    }
    this.sockets.add(socket);
    socket.once("close", () => {
      this.sockets.delete(socket);
      this.slots.free();
    });
  }
}
