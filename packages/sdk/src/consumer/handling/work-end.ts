/** Tells a handler at work that its result does not count any more. The signal is made for those who ask for it. */
export class WorkEnd {
  #controller: AbortController | undefined;
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isOver) this.#controller.abort();
    return this.#controller.signal;
  }

  end(): void {
    this.#isOver = true;
    this.#controller?.abort();
  }
}
