interface EventQueueSettings<Event> {
  /** What a reader sees in the place of events that were dropped. */
  readonly onOverflow: (lost: number) => Event;
  /** Nothing comes any more: the reader left, or `end` was called. */
  readonly onEnd: () => void;
}

/** Events between one that pushes and one that reads, when it likes. Keeps the newest ones. */
export class EventQueue<Event> implements AsyncIterableIterator<Event, undefined> {
  readonly #limit: number;
  readonly #settings: EventQueueSettings<Event>;
  #events: Event[] = [];
  #lost = 0;
  #isOver = false;
  /** Reads that wait, in the order of asking. */
  readonly #waiting: ((result: IteratorResult<Event, undefined>) => void)[] = [];

  constructor(limit: number, settings: EventQueueSettings<Event>) {
    this.#limit = limit;
    this.#settings = settings;
  }

  push(event: Event): void {
    if (this.#isOver) return;
    const waiting = this.#waiting.shift();
    if (waiting !== undefined) {
      waiting({ done: false, value: event });
      return;
    }
    this.#events.push(event);
    if (this.#events.length <= this.#limit) return;
    this.#events.shift();
    this.#lost++;
  }

  /** What is kept can still be read. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#settings.onEnd();
    for (const waiting of this.#waiting.splice(0)) waiting({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<Event, undefined>> {
    const event = this.#take();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  return(): Promise<IteratorResult<Event, undefined>> {
    this.#events = [];
    this.#lost = 0;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): Event | undefined {
    if (this.#lost === 0) return this.#events.shift();
    const lost = this.#lost;
    this.#lost = 0;
    return this.#settings.onOverflow(lost);
  }
}
