import type { CreateMessage } from "../../api/outgoing-messages.js";
import type { SendConfirmation } from "../../api/sends.js";
import type { ProducerSendFailedError } from "../../errors/index.js";
import type { Id } from "../../values/id.js";

/** Messages of a background producer that are not confirmed. */
export interface SendFailure {
  readonly streamId: Id;
  readonly topicId: Id;
  /** Why, and the messages as they were sent: encrypted when there is an encryptor, with their ids. */
  readonly error: ProducerSendFailedError<CreateMessage, SendConfirmation>;
}

/** Failures that may wait for the callback; who fails more waits with them. */
const maxWaiting = 1024;

interface Waiting {
  readonly failure: SendFailure;
  readonly bytes: number;
}

/** Tells failures to the application, one at a time, in order. What the application throws goes to `onThrow`. */
export class FailureReports {
  readonly #tell: (failure: SendFailure) => void | Promise<void>;
  readonly #onThrow: (error: unknown) => void;
  readonly #maxBytes: number;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;
  #wake: (() => void)[] = [];

  constructor(
    tell: (failure: SendFailure) => void | Promise<void>,
    onThrow: (error: unknown) => void,
    maxBytes: number,
  ) {
    this.#tell = tell;
    this.#onThrow = onThrow;
    this.#maxBytes = maxBytes;
  }

  /** Resolves once there is room for the next failure. */
  async report(failure: SendFailure, bytes: number): Promise<void> {
    this.#waiting.push({ failure, bytes });
    this.#bytes += bytes;
    this.#running ??= this.#run();
    while (this.#waiting.length > maxWaiting || this.#bytes > this.#maxBytes) await this.#progress();
  }

  /** Resolves when everything reported so far was told. */
  async settled(): Promise<void> {
    await this.#running;
  }

  #progress(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  async #run(): Promise<void> {
    // In a turn of its own: a callback that sends again must not find the producer half way through a step.
    await Promise.resolve();
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#tell(next.failure);
      } catch (error) {
        this.#onThrow(error);
      }
      this.#bytes -= next.bytes;
      const waking = this.#wake;
      this.#wake = [];
      for (const wake of waking) wake();
    }
    this.#running = undefined;
  }
}
