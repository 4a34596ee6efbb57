import type { Scope } from "./scope.js";

interface Waiter {
  readonly amount: number;
  readonly grant: () => void;
}

/**
 * A bounded budget, given out in the order of asking. With a budget of 1 it is a mutex. Waiting spends the deadline of
 * the call that waits.
 */
export class Permits {
  readonly capacity: number;
  #free: number;
  readonly #waiters = new Set<Waiter>();

  constructor(capacity: number) {
    this.capacity = capacity;
    this.#free = capacity;
  }

  get free(): number {
    return this.#free;
  }

  get waiting(): number {
    return this.#waiters.size;
  }

  /** Takes `amount` at once, or nothing. Those who wait come first. */
  tryTake(amount = 1): boolean {
    if (this.#waiters.size > 0 || amount > this.#free) return false;
    this.#free -= amount;
    return true;
  }

  /** Waits for room. The caller must ask for no more than the capacity. */
  async take(scope: Scope, amount = 1): Promise<void> {
    scope.throwIfEnded();
    if (this.tryTake(amount)) return;
    await scope.wait<undefined>((resolve) => {
      const waiter: Waiter = { amount, grant: () => resolve(undefined) };
      this.#waiters.add(waiter);
      return () => {
        this.#waiters.delete(waiter);
        this.#grantWaiting();
      };
    });
  }

  give(amount = 1): void {
    this.#free += amount;
    this.#grantWaiting();
  }

  #grantWaiting(): void {
    for (const waiter of this.#waiters) {
      if (waiter.amount > this.#free) return;
      this.#waiters.delete(waiter);
      this.#free -= waiter.amount;
      waiter.grant();
    }
  }
}
