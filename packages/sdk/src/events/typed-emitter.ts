type Listener<Event> = (event: Event) => void;
type Listeners<Events> = { [Name in keyof Events]?: Set<Listener<Events[Name]>> };

/** Hands events to listeners. A listener that throws breaks nothing: its error goes to `onThrow`. */
export class TypedEmitter<Events> {
  readonly #listeners: Listeners<Events> = {};
  readonly #onThrow: (name: keyof Events, error: unknown) => void;

  constructor(onThrow: (name: keyof Events, error: unknown) => void) {
    this.#onThrow = onThrow;
  }

  on<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    const listeners = this.#listeners[name] ?? new Set();
    listeners.add(listener);
    this.#listeners[name] = listeners;
  }

  off<Name extends keyof Events>(name: Name, listener: Listener<Events[Name]>): void {
    this.#listeners[name]?.delete(listener);
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    for (const listener of [...(this.#listeners[name] ?? [])]) {
      try {
        listener(event);
      } catch (error) {
        this.#onThrow(name, error);
      }
    }
  }
}
