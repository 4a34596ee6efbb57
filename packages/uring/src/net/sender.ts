import type { Ring, TurnHook } from "../ring/index.js";
import { MessageTables } from "./message-tables.js";
import { SendMemory } from "./send-memory.js";

/** A stream as the sender sees it. */
export interface Sending {
  /** Time to send. */
  flush(): void;
  destroy(): void;
}

/** What the streams of one ring share: memory, and one moment per turn in which all of them send. */
export class Sender implements TurnHook {
  readonly memory: SendMemory;
  readonly tables: MessageTables;
  private readonly ring: Ring;
  private readonly streams = new Set<Sending>();
  private waiting: Sending[] = [];

  constructor(ring: Ring) {
    this.ring = ring;
    this.memory = new SendMemory(ring.blocks);
    this.tables = new MessageTables(ring.slab, ring.blocks);
    ring.atClose(() => {
      for (const stream of [...this.streams]) stream.destroy();
      this.memory.close();
      this.tables.close();
    });
  }

  static of(ring: Ring): Sender {
    let sender = senders.get(ring);
    if (sender === undefined) senders.set(ring, (sender = new Sender(ring)));
    return sender;
  }

  /** Streams are destroyed with the ring. */
  add(stream: Sending): void {
    this.streams.add(stream);
  }

  remove(stream: Sending): void {
    this.streams.delete(stream);
  }

  /** Calls the stream right before the next submission. Streams ask once until they are called. */
  schedule(stream: Sending): void {
    if (this.waiting.push(stream) === 1) this.ring.callBeforeSubmit(this);
  }

  beforeSubmit(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const stream of waiting) stream.flush();
  }
}

const senders = new WeakMap<Ring, Sender>();
