/** Runs steps one after the other, in the order of asking. A step that fails holds up nobody. */
export class CallOrder {
  #tail: Promise<void> | undefined;

  /** Whether a step that starts now would overtake nobody. */
  get isIdle(): boolean {
    return this.#tail === undefined;
  }

  run<T>(step: () => Promise<T>): Promise<T> {
    const work = this.#tail === undefined ? step() : this.#tail.then(step);
    const tail: Promise<void> = work.then(nothing, nothing).then(() => {
      if (this.#tail === tail) this.#tail = undefined;
    });
    this.#tail = tail;
    return work;
  }

  /** Resolves when the steps of now are done. */
  async settled(): Promise<void> {
    await this.#tail;
  }
}

const nothing = (): void => undefined;
