import type { ClientCore } from "../client/client.js";
import { IggyError } from "../errors/index.js";
import { monotonicMs } from "../time/timers.js";

/** One client of a pool. */
export class PoolMember {
  /** Number of the member, for the errors of its calls. It is not used again. */
  readonly id: number;
  readonly client: ClientCore;
  /** Handed out to one caller, so that nobody else uses it. */
  isTaken = false;
  #calls = 0;
  #lastUsed = monotonicMs();

  constructor(id: number, client: ClientCore) {
    this.id = id;
    this.client = client;
  }

  /** Calls under way. */
  get calls(): number {
    return this.#calls;
  }

  /** How long nothing happened, ms. What has an unknown outcome can only be resolved here, so it counts as use. */
  get idleMs(): number {
    const isBusy = this.isTaken || this.#calls > 0 || this.client.operation.list().length > 0;
    return isBusy ? 0 : monotonicMs() - this.#lastUsed;
  }

  /** Makes a call; its error says which member it was. */
  async run(call: () => unknown): Promise<unknown> {
    this.#calls++;
    try {
      return await call();
    } catch (error) {
      if (error instanceof IggyError) {
        Object.defineProperty(error, "context", { value: { ...error.context, member: this.id }, enumerable: true });
      }
      throw error;
    } finally {
      this.release();
      this.#calls--;
    }
  }

  release(): void {
    this.#lastUsed = monotonicMs();
  }
}
