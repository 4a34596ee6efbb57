import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** What happens to the bytes of one direction of a connection. */
export interface Faults {
  /** Pieces of at most so many bytes. */
  readonly pieceBytes?: number;
  /** Pause before each piece, ms. */
  readonly delayMs?: number;
  /** The connection is reset after so many bytes. */
  readonly resetAfter?: number;
  /** What comes after so many bytes is swallowed until the connection is reset, `swallowMs` later. */
  readonly swallowAfter?: number;
  readonly swallowMs?: number;
}

export interface ConnectionFaults {
  readonly toServer: Faults;
  readonly toClient: Faults;
}

/** Stands between a client and a server, and treats the bytes badly. */
export class FaultyProxy implements AsyncDisposable {
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  /** Asked for each connection, by its number. */
  faultsOf: (connection: number) => ConnectionFaults = () => ({ toServer: {}, toClient: {} });
  connections = 0;
  resets = 0;

  private constructor(target: { readonly host: string; readonly port: number }) {
    this.#listener = createServer((client) => this.#accept(client, target));
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(target);
    proxy.#listener.listen(0, "127.0.0.1");
    await once(proxy.#listener, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port;
  }

  /** Breaks every connection of now. */
  resetAll(): void {
    for (const socket of [...this.#sockets]) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#listener, "close");
  }

  #accept(client: Socket, target: { readonly host: string; readonly port: number }): void {
    const faults = this.faultsOf(this.connections++);
    const server = connect(target);
    const both = [client, server];
    const reset = (): void => {
      if (client.destroyed) return;
      this.resets++;
      for (const socket of both) socket.resetAndDestroy();
    };
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        for (const other of both) other.destroy();
      });
    }
    void pass(client, server, faults.toServer, reset);
    void pass(server, client, faults.toClient, reset);
  }
}

async function pass(from: Socket, to: Socket, faults: Faults, reset: () => void): Promise<void> {
  const { pieceBytes = Infinity, delayMs = 0, resetAfter = Infinity, swallowAfter = Infinity, swallowMs = 0 } = faults;
  let passed = 0;
  let isSwallowing = false;
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length;) {
        const end = Math.min(
          chunk.length,
          at + pieceBytes,
          at + Math.max(0, Math.min(resetAfter, swallowAfter) - passed),
        );
        if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
        if (end > at && !isSwallowing && !to.destroyed) to.write(chunk.subarray(at, end));
        passed += end - at;
        at = end;
        if (passed >= resetAfter) {
          reset();
          return;
        }
        if (passed >= swallowAfter) {
          if (!isSwallowing) setTimeout(reset, swallowMs);
          isSwallowing = true;
          passed += chunk.length - at;
          at = chunk.length;
        }
      }
    }
  } catch {
    // The connection broke; its other half is closed with it.
  }
}
