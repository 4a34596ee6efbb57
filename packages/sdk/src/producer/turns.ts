/** A place in a queue. */
export interface Turn {
  /** Resolves when everybody before is done. */
  readonly ready: Promise<void>;
  /** Lets the next one pass, once those before are done. */
  readonly leave: () => void;
}

const atOnce = Promise.resolve();

/** Queues by name: who takes a place first comes first. A queue exists while somebody is in it. */
export class Turns {
  readonly #tails = new Map<string, Promise<void>>();

  take(name: string): Turn {
    const ready = this.#tails.get(name) ?? atOnce;
    let leave = (): void => undefined;
    const left = new Promise<void>((resolve) => (leave = resolve));
    const tail = ready.then(() => left);
    this.#tails.set(name, tail);
    void tail.then(() => {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    });
    return { ready, leave };
  }
}
