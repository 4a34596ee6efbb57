import { ClientCore } from "../../src/client/client.js";
import type { ClientConfig } from "../../src/client/config.js";
import type { Connection, ConnectionHandlers, Transport } from "../../src/transport/index.js";
import { nodeWebSocketTransport } from "../../src/transport/web-socket-node.js";
import type { ScriptedNode, Wire } from "./scripted-node.js";
import { acceptWebSocket } from "./web-socket-node.js";

/** What carries the frames; suites that are about the way of bytes run over each. */
export const carriers = ["TCP", "WS"] as const;
export type Carrier = (typeof carriers)[number];

/** What happens to bytes on the way, per connection. */
export interface Faults {
  /** Cuts the bytes to the client into chunks of this size. */
  readonly chunkSize?: number;
  /** The connection breaks after this many bytes to the server. */
  readonly breakAfterSent?: number;
  /** The connection breaks after this many bytes to the client. */
  readonly breakAfterReceived?: number;
  /** The send buffer counts as full after every send. */
  readonly slowWriter?: boolean;
  /** A bit of the bytes to the client is flipped: byte offset in the stream. */
  readonly flipBit?: number;
}

/** A network in memory: no sockets, so that fake timers rule everything. */
export class MemoryNetwork {
  readonly node: ScriptedNode;
  /** Faults of the next connections; the last entry holds for all further ones. */
  faults: Faults[] = [{}];
  /** While set, nobody can connect. */
  isDown = false;
  readonly connections: MemoryConnection[] = [];
  readonly #isWebSocket: boolean;

  constructor(node: ScriptedNode, over: Carrier = "TCP") {
    this.node = node;
    this.#isWebSocket = over === "WS";
  }

  get transport(): Transport {
    if (!this.#isWebSocket) return this.#bytes;
    return nodeWebSocketTransport(this.#bytes, { secure: false, maxMessageSize: 67_108_864 });
  }

  get #bytes(): Transport {
    const accept = this.#isWebSocket ? acceptWebSocket : undefined;
    return {
      protocol: "tcp",
      connect: async (_endpoint, handlers, signal) => {
        await Promise.resolve();
        signal.throwIfAborted();
        if (this.isDown) throw new Error("connection refused");
        const faults = this.faults[Math.min(this.connections.length, this.faults.length - 1)] ?? {};
        const connection = new MemoryConnection(this.node, handlers, faults, accept);
        this.connections.push(connection);
        return connection;
      },
    };
  }

  client(config: Partial<ClientConfig> = {}): ClientCore {
    return new ClientCore(
      {
        credentials: { username: "iggy", password: "iggy" },
        heartbeatInterval: 0,
        random: () => 0,
        reconnect: { interval: 1, maxInterval: 1 },
        ...config,
      },
      { loadTransport: () => Promise.resolve(this.transport) },
    );
  }
}

/** One connection in memory. Bytes arrive in later turns of the event loop, as they do from a socket. */
export class MemoryConnection implements Connection, Wire {
  remoteHost: string | undefined;
  readonly #handlers: ConnectionHandlers;
  readonly #node: ScriptedNode;
  readonly #faults: Faults;
  readonly #toServer: (chunk: Uint8Array) => void;
  /** Bytes so far to the server, and to the client. */
  sentBytes = 0;
  receivedBytes = 0;
  #isOpen = true;
  #queue: Promise<void> = Promise.resolve();

  constructor(node: ScriptedNode, handlers: ConnectionHandlers, faults: Faults, accept?: typeof acceptWebSocket) {
    this.#node = node;
    this.#handlers = handlers;
    this.#faults = faults;
    this.#toServer = accept === undefined ? node.accept(this) : accept(node, this);
  }

  // Client side

  send(sent: Uint8Array): boolean {
    if (!this.#isOpen) return true;
    const bytes = new Uint8Array(sent);
    const limit = this.#faults.breakAfterSent ?? Infinity;
    const passing = bytes.subarray(0, Math.max(0, Math.min(bytes.length, limit - this.sentBytes)));
    this.sentBytes += bytes.length;
    this.#later(() => {
      if (passing.length > 0) this.#toServer(passing);
      if (this.sentBytes > limit) this.#break(new Error("connection reset"));
      else if (this.#faults.slowWriter === true) this.#handlers.onDrain();
    });
    return this.#faults.slowWriter !== true;
  }

  close(): void {
    this.#later(() => this.#break(undefined));
  }

  // Server side

  write(bytes: Uint8Array): void {
    const { chunkSize = Infinity, breakAfterReceived = Infinity, flipBit } = this.#faults;
    const copy = new Uint8Array(bytes);
    const flipAt = (flipBit ?? -1) - this.receivedBytes;
    if (flipAt >= 0 && flipAt < copy.length) copy[flipAt] = (copy[flipAt] ?? 0) ^ 1;
    const passing = copy.subarray(0, Math.max(0, Math.min(copy.length, breakAfterReceived - this.receivedBytes)));
    this.receivedBytes += copy.length;
    const isBroken = this.receivedBytes > breakAfterReceived;
    for (let at = 0; at < passing.length; at += chunkSize) {
      const chunk = passing.slice(at, at + chunkSize);
      this.#later(() => {
        if (this.#isOpen) this.#handlers.onData(chunk);
      });
    }
    if (isBroken) this.#later(() => this.#break(new Error("connection reset")));
  }

  end(): void {
    this.#later(() => this.#break(new Error("the server closed the connection")));
  }

  reset(): void {
    this.#break(new Error("connection reset"));
  }

  #break(error: Error | undefined): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#node.wires.delete(this);
    this.#handlers.onClose(error);
  }

  #later(step: () => void): void {
    // Microtasks several deep keep order and let the sender finish first, also under fake timers.
    this.#queue = this.#queue.then(() => Promise.resolve()).then(step);
  }
}

export function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
