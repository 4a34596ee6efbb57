import type { MessagePort } from "node:worker_threads";

/** Wakes the event loops of other shards, and is woken by them. */
export interface Wakeup {
  /** The other shard's loop runs its `onWake` soon; calls before that may count as one. */
  wake(shard: number): void;
  /** At most one listener. */
  onWake(listener: () => void): void;
  close(): void;
}

/** By messages of ports, which every Node.js has. */
export class PortWakeup implements Wakeup {
  private readonly ports: ReadonlyMap<number, MessagePort>;

  /** One port to each other shard. They keep no event loop alive. */
  constructor(ports: ReadonlyMap<number, MessagePort>) {
    this.ports = ports;
  }

  wake(shard: number): void {
    this.ports.get(shard)?.postMessage(null);
  }

  onWake(listener: () => void): void {
    for (const port of this.ports.values()) {
      port.on("message", listener);
      port.unref();
    }
  }

  close(): void {
    for (const port of this.ports.values()) port.close();
  }
}
