import type { Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { BindAddress } from "../../config/index.js";
import type { Listener } from "../../net/listener.js";
import type { SocketSlots } from "../../net/socket-slots.js";

/** Accepts HTTP clients on one address. */
export class HttpListener implements Listener {
  readonly port: number;
  private readonly app: FastifyInstance;
  private readonly sockets: ReadonlySet<Socket>;

  private constructor(app: FastifyInstance, sockets: ReadonlySet<Socket>) {
    this.app = app;
    this.sockets = sockets;
    this.port = portOf(app.server);
  }

  static async open(app: FastifyInstance, address: BindAddress, slots: SocketSlots): Promise<HttpListener> {
    const sockets = new Set<Socket>();
    app.server.on("connection", (socket) => {
      if (!slots.take()) {
        socket.destroy();
        return;
      }
      sockets.add(socket);
      socket.once("close", () => {
        sockets.delete(socket);
        slots.free();
      });
    });
    await app.listen(address);
    return new HttpListener(app, sockets);
  }

  stopAccepting(): void {
    // Connections without a request close with it; an answer to what still comes closes the others.
    this.app.server.close();
  }

  destroyConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.stopAccepting();
    this.destroyConnections();
    await this.app.close();
  }
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
