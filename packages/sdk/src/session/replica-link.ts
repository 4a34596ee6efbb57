import { DisconnectedError, type IggyError } from "../errors/index.js";
import type { Link } from "../link/index.js";
import type { Slot } from "../routing/router.js";
import { type Random, redialPauseMs } from "../time/backoff.js";
import { sleep } from "../time/sleep.js";
import { monotonicMs } from "../time/timers.js";
import type { Endpoint } from "../transport/index.js";
import { asIggyError, FinalRefusal } from "./connect-errors.js";
import type { Emit } from "./events.js";
import type { ReconnectSettings } from "./reconnect-settings.js";

export interface ReplicaLinkSettings {
  readonly reconnect: ReconnectSettings;
  readonly random: Random;
  readonly emit: Emit;
  /** Dials and gives the link its session. */
  readonly open: (endpoint: Endpoint, signal: AbortSignal) => Promise<Link>;
  /** Whether there is a session that a link could have. */
  readonly mayDial: () => boolean;
  readonly onUp: (replica: ReplicaLink, link: Link) => void;
  readonly onFailure: (replica: ReplicaLink, error: IggyError) => void;
}

/** The link to one replica of the roster. Dials in the background: at once the first time, after a pause from then on. */
export class ReplicaLink {
  readonly replicaId: number;
  readonly endpoint: Endpoint;
  readonly #settings: ReplicaLinkSettings;
  #slot: Slot | undefined;
  /** Ends the dials under way. */
  #dialing: AbortController | undefined;
  #isFirstDial = true;
  /** The next dial comes without a pause. */
  #dialsAtOnce = true;
  /** Dials in a row that got no link which lasted. */
  #redials = 0;
  #isExhausted = false;
  #lastError: IggyError | undefined;
  #tellOpened: () => void = () => undefined;
  readonly #opened = new Promise<void>((resolve) => (this.#tellOpened = resolve));

  constructor(replicaId: number, endpoint: Endpoint, settings: ReplicaLinkSettings) {
    this.replicaId = replicaId;
    this.endpoint = endpoint;
    this.#settings = settings;
  }

  get slot(): Slot | undefined {
    return this.#slot;
  }

  /** The first dial is under way: soon there is a link, or the reason why there is none. */
  get isOpening(): boolean {
    return this.#isFirstDial && this.#dialing !== undefined;
  }

  /** Resolves when the first dial ended, well or not. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  /** Why there is no link. */
  get lastError(): IggyError | undefined {
    return this.#slot === undefined ? this.#lastError : undefined;
  }

  /** Dials unless there is a link, or somebody dials, or every retry was used. */
  start(): void {
    if (this.#slot !== undefined || this.#dialing !== undefined || this.#isExhausted) return;
    const dialing = new AbortController();
    this.#dialing = dialing;
    void this.#dial(dialing.signal).finally(() => {
      if (this.#dialing === dialing) this.#dialing = undefined;
    });
  }

  /** Gives a replica whose retries are used up another chance. */
  restart(): void {
    if (this.#isExhausted) {
      this.#isExhausted = false;
      this.#redials = 0;
      this.#dialsAtOnce = true;
    }
    this.start();
  }

  /** Takes a link that was opened elsewhere. */
  adopt(link: Link): void {
    this.#dialing?.abort();
    this.#dialing = undefined;
    this.#take(link);
  }

  /** The link is gone. */
  lost(link: Link): void {
    this.#slot = undefined;
    if (monotonicMs() - link.openedAt >= this.#settings.reconnect.reestablishAfterMs) this.#redials = 0;
    if (this.#settings.mayDial()) this.start();
  }

  /** Ends it; what becomes of its link is up to the caller. */
  stop(): Link | undefined {
    this.#dialing?.abort();
    this.#isExhausted = true;
    this.#tellOpened();
    const link = this.#slot?.link;
    this.#slot = undefined;
    return link;
  }

  #take(link: Link): void {
    this.#slot = { link, replicaId: this.replicaId };
    this.#dialsAtOnce = false;
    this.#firstDialEnded();
  }

  #firstDialEnded(): void {
    this.#isFirstDial = false;
    this.#tellOpened();
  }

  async #dial(signal: AbortSignal): Promise<void> {
    const { open, mayDial, onUp, onFailure } = this.#settings;
    while (this.#dialsAtOnce || (await this.#mayRedial(signal))) {
      this.#dialsAtOnce = false;
      try {
        const link = await open(this.endpoint, signal);
        if (signal.aborted) {
          link.close();
          return;
        }
        if (!link.isOpen) throw new DisconnectedError("the link was lost during sign-in");
        this.#take(link);
        onUp(this, link);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#lastError = asIggyError(error);
        this.#firstDialEnded();
        onFailure(this, this.#lastError);
        // Every further dial would meet the same refusal.
        if (error instanceof FinalRefusal) this.#isExhausted = true;
        if (this.#isExhausted || !mayDial()) return;
      }
    }
  }

  /** Pauses before a redial. False when there is to be none. */
  async #mayRedial(signal: AbortSignal): Promise<boolean> {
    const { reconnect, random, emit, mayDial } = this.#settings;
    if (!reconnect.enabled || this.#redials >= reconnect.maxRetries) {
      this.#isExhausted = true;
      return false;
    }
    const delay = redialPauseMs(this.#redials, reconnect.intervalMs, reconnect.maxIntervalMs, random);
    this.#redials++;
    emit("reconnecting", { attempt: this.#redials, delay, replicaId: this.replicaId });
    // An abort ends the pause early; what matters is whether the dial is still wanted.
    await sleep(delay, { signal, background: true }).catch(() => undefined);
    return !signal.aborted && mayDial();
  }
}
