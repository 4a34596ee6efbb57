import { TypedEmitter } from "../events/typed-emitter.js";
import type { ClientEventName, ClientEvents, Emit } from "../session/events.js";
import { integer } from "../values/check.js";
import { EventQueue } from "./event-queue.js";

type Named<Name extends ClientEventName> = { readonly type: Name } & ClientEvents[Name];

export type ClientEvent =
  | { [Name in ClientEventName]: Named<Name> }[ClientEventName]
  /** Events were dropped because nobody read them. */
  | { readonly type: "overflow"; readonly lost: number };

/** How an event says its name. One entry per name keeps name and contents together for the type checker. */
const named: { readonly [Name in ClientEventName]: (event: ClientEvents[Name]) => ClientEvent } = {
  connected: (event) => ({ type: "connected", ...event }),
  disconnected: (event) => ({ type: "disconnected", ...event }),
  signedIn: (event) => ({ type: "signedIn", ...event }),
  signedOut: (event) => ({ type: "signedOut", ...event }),
  shutdown: (event) => ({ type: "shutdown", ...event }),
  "link-up": (event) => ({ type: "link-up", ...event }),
  "link-down": (event) => ({ type: "link-down", ...event }),
  reconnecting: (event) => ({ type: "reconnecting", ...event }),
  "leader-changed": (event) => ({ type: "leader-changed", ...event }),
  "route-moved": (event) => ({ type: "route-moved", ...event }),
  sessionReset: (event) => ({ type: "sessionReset", ...event }),
  heartbeat: (event) => ({ type: "heartbeat", ...event }),
  eviction: (event) => ({ type: "eviction", ...event }),
  "operation-retained": (event) => ({ type: "operation-retained", ...event }),
  error: (event) => ({ type: "error", ...event }),
};

/** Events of a client, for listeners and for readers. A listener that throws becomes an `error` event. */
export class Emitter {
  readonly #listeners: TypedEmitter<ClientEvents> = new TypedEmitter((name, error) => {
    // An error listener that throws has nobody left to tell.
    if (name !== "error") this.emit("error", { error });
  });
  readonly #queues = new Set<EventQueue<ClientEvent>>();
  #isOver = false;

  on<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): void {
    this.#listeners.on(name, listener);
  }

  off<Name extends ClientEventName>(name: Name, listener: (event: ClientEvents[Name]) => void): void {
    this.#listeners.off(name, listener);
  }

  readonly emit: Emit = (name, event) => {
    this.#listeners.emit(name, event);
    for (const queue of [...this.#queues]) queue.push(named[name](event));
    if (name !== "shutdown") return;
    this.#isOver = true;
    for (const queue of [...this.#queues]) queue.end();
  };

  /** The events from now on. Keeps at most `buffer` of them for a slow reader, then drops the oldest. */
  events(buffer: number): AsyncIterableIterator<ClientEvent> {
    const queue = new EventQueue<ClientEvent>(integer("buffer", buffer, 1, 1_000_000), {
      onOverflow: (lost) => ({ type: "overflow", lost }),
      onEnd: () => this.#queues.delete(queue),
    });
    // From this call on, not from the first read: what happens in between is not lost.
    if (this.#isOver) queue.end();
    else this.#queues.add(queue);
    return queue;
  }
}
