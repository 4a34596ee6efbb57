import { type Addon, wake, Wakeup as NativeWakeup } from "@iggy/uring";
import type { MessagePort } from "node:worker_threads";
import type { Seat } from "./seat.js";

/** Wakes the event loops of other shards, and is woken by them. */
export interface Wakeup {
  /** The other shard's loop runs its `onWake` soon; calls before that may count as one. */
  wake(shard: number): void;
  /** At most one listener. */
  onWake(listener: () => void): void;
  close(): void;
}

/** The fastest that this process has. */
export function wakeupOf(seat: Seat, addon: Addon | undefined): Wakeup {
  const ports = new PortWakeup(new Map(seat.neighbours.map(({ shard, wakePort }) => [shard, wakePort])));
  return addon === undefined ? ports : new LoopWakeup(addon, seat, ports);
}

/** Straight into the event loop of the other thread. Whoever does not listen there, or not yet, gets a message. */
class LoopWakeup implements Wakeup {
  private readonly addon: Addon;
  private readonly shard: number;
  private readonly numbers: Int32Array;
  private readonly ports: PortWakeup;
  private own: NativeWakeup | undefined;

  constructor(addon: Addon, { shard, wakeups }: Seat, ports: PortWakeup) {
    this.addon = addon;
    this.shard = shard;
    this.numbers = new Int32Array(wakeups);
    this.ports = ports;
  }

  wake(shard: number): void {
    const number = Atomics.load(this.numbers, shard);
    if (number === 0 || !wake(this.addon, number)) this.ports.wake(shard);
  }

  onWake(listener: () => void): void {
    this.ports.onWake(listener);
    this.own = NativeWakeup.open(this.addon, listener);
    Atomics.store(this.numbers, this.shard, this.own.id);
  }

  close(): void {
    Atomics.store(this.numbers, this.shard, 0);
    this.own?.close();
    this.ports.close();
  }
}

/** By messages of ports, which every Node.js has. */
class PortWakeup implements Wakeup {
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
