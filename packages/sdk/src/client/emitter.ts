import { TypedEmitter } from "../events/typed-emitter.js";
import type { ClientEventName, ClientEvents, Emit } from "../session/events.js";
import { integer } from "../values/check.js";

export type ClientEvent =
  | { readonly [Name in ClientEventName]: { readonly type: Name } & ClientEvents[Name] }[ClientEventName]
  /** Events were dropped because nobody read them. */
  | { readonly type: "overflow"; readonly lost: number };

type Observer = (event: ClientEvent) => void;

/** Events of a client, for listeners and for readers. A listener that throws becomes an `error` event. */
export class Emitter {
  readonly #listeners: TypedEmitter<ClientEvents> = new TypedEmitter((name, error) => {
    // An error listener that throws has nobody left to tell.
    if (name !== "error") this.emit("error", { error });
  });
  readonly #observers = new Set<Observer>();

  on<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): void {
    this.#listeners.on(name, listener);
  }

  off<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): void {
    this.#listeners.off(name, listener);
  }

  readonly emit: Emit = (name, event) => {
    this.#listeners.emit(name, event);
    if (this.#observers.size === 0) return;
    const seen = Object.assign({ type: name }, event) as ClientEvent;
    for (const observer of [...this.#observers]) observer(seen);
  };

  /** The events from now on. Keeps at most `buffer` of them for a slow reader, then drops the oldest. */
  events(buffer = 1000): AsyncIterableIterator<ClientEvent> {
    const queue = new EventQueue(integer("buffer", buffer, 1, 1_000_000));
    const observer: Observer = (event) => queue.push(event);
    // From this call on, not from the first read: what happens in between is not lost.
    this.#observers.add(observer);
    return queue.read(() => this.#observers.delete(observer));
  }
}

class EventQueue {
  readonly #limit: number;
  #events: ClientEvent[] = [];
  #lost = 0;
  #wake: (() => void) | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(event: ClientEvent): void {
    this.#events.push(event);
    if (this.#events.length > this.#limit) {
      this.#events.shift();
      this.#lost++;
    }
    this.#wake?.();
  }

  async *read(onEnd: () => void): AsyncGenerator<ClientEvent, void, undefined> {
    try {
      for (;;) {
        const event = this.#next();
        if (event === undefined) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        yield event;
        if (event.type === "shutdown") return;
      }
    } finally {
      onEnd();
    }
  }

  #next(): ClientEvent | undefined {
    if (this.#lost === 0) return this.#events.shift();
    const lost = this.#lost;
    this.#lost = 0;
    return { type: "overflow", lost };
  }
}
