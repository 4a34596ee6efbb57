import { monotonicMs } from "../time/timers.js";
import { milliseconds } from "../values/duration.js";
import { type CallOptions, defaultTimeoutMs } from "./caller.js";

/** One deadline for a call that makes several requests: each gets what is left of it. */
export class TimeLeft {
  readonly #options: CallOptions;
  readonly #deadline: number;

  constructor(options: CallOptions = {}) {
    this.#options = options;
    this.#deadline = monotonicMs() + milliseconds("timeout", options.timeout ?? defaultTimeoutMs, 0, Infinity);
  }

  options(): CallOptions {
    return { ...this.#options, timeout: Math.max(0, this.#deadline - monotonicMs()) };
  }
}
