import { ErrorCode } from "@iggy/protocol";
import { type Answer, sleep } from "../raw-client/index.js";
import type { Client } from "./client.js";

const RETRY_MILLIS = 5;
/** Nothing is owed an answer for longer than this after a start. */
const SETTLE_MILLIS = 30_000;

/** A request whose outcome is not known yet. */
export interface Pending {
  readonly frame: Uint8Array;
  readonly settle: (answer: Answer) => void;
}

/** Something that works against the server while it is killed, and knows what it is owed afterwards. */
export interface Worker {
  /** Works until the connection is gone. Gives how many requests were answered. */
  run(): Promise<number>;
  /** Repeats what has no answer yet. */
  settle(): Promise<void>;
  /** What is missing or wrong, in words. */
  faults(thorough: boolean): Promise<string[]>;
}

/** One request at a time; after a death the same frame again, until it is answered. */
export abstract class Lane implements Worker {
  protected readonly client: Client;
  protected pending: Pending | undefined;
  private sessions: number;

  constructor(client: Client) {
    this.client = client;
    this.sessions = client.sessions;
  }

  /** The next request, and what an answer to it means. */
  protected abstract next(): Pending;
  abstract faults(thorough: boolean): Promise<string[]>;

  /** The client has another session: the request under way goes on there, or its outcome stays unknown. */
  protected abstract renewed(): Pending | undefined;

  async run(): Promise<number> {
    for (let answered = 0; ; answered++) {
      this.pending ??= this.next();
      if (!(await this.attempt(this.pending))) return answered;
    }
  }

  async settle(): Promise<void> {
    if (this.sessions !== this.client.sessions) {
      this.sessions = this.client.sessions;
      this.pending = this.renewed();
    }
    const deadline = Date.now() + SETTLE_MILLIS;
    while (this.pending !== undefined) {
      if (!(await this.attempt(this.pending))) throw new Error("the server died while nobody killed it");
      if (Date.now() > deadline) throw new Error(`no final answer within ${SETTLE_MILLIS} ms`);
    }
  }

  /** False when the connection is gone. */
  private async attempt(pending: Pending): Promise<boolean> {
    const answer = await this.client.session.deliver(pending.frame);
    if (answer.kind === "closed") return false;
    if (answer.kind === "refused" && isRetryable(answer.code)) {
      await sleep(RETRY_MILLIS);
      return true;
    }
    this.pending = undefined;
    pending.settle(answer);
    return true;
  }
}

const isRetryable = (code: number): boolean =>
  code === ErrorCode.TransientNotAccepted || code === ErrorCode.TransientNotCommitted;
