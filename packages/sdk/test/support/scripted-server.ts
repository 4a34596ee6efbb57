import { createServer, type Server, type Socket } from "node:net";
import { type Handler, ScriptedNode } from "./scripted-node.js";

export type { Handler, Received } from "./scripted-node.js";

/** A scripted node on a TCP port. */
export class ScriptedServer extends ScriptedNode implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(handler: Handler | undefined) {
    super(handler);
    this.#server = createServer((socket) => this.#connected(socket));
  }

  static async start(handler?: Handler, port = 0): Promise<ScriptedServer> {
    const server = new ScriptedServer(handler);
    await new Promise<void>((resolve, reject) => {
      server.#server.once("error", reject);
      server.#server.listen(port, "127.0.0.1", resolve);
    });
    const address = server.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    server.port = address.port;
    return server;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket);
    const wire = {
      write: (bytes: Uint8Array) => void socket.write(bytes),
      end: () => void socket.end(),
      reset: () => void socket.resetAndDestroy(),
    };
    const take = this.accept(wire);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      this.wires.delete(wire);
    });
    socket.on("data", take);
  }
}
