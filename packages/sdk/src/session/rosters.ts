import { Scope } from "../calls/scope.js";
import type { IggyError } from "../errors/index.js";
import type { Link } from "../link/index.js";
import { Roster } from "../routing/roster.js";
import type { Slot } from "../routing/router.js";
import { asIggyError } from "./connect-errors.js";
import type { Dialer } from "./dialer.js";
import type { LinkCalls } from "./link-calls.js";
import type { Links } from "./links.js";
import type { Session } from "./session.js";

/** Longest time of reading the roster where no call sets one, ms. */
const rosterTimeoutMs = 30_000;

/** Asks nodes for the roster and lets the links follow what they say. */
export class Rosters {
  readonly #calls: LinkCalls;
  readonly #dialer: Dialer;
  readonly #links: Links;
  readonly #session: Session;
  readonly #onError: (error: IggyError) => void;
  #isReadingInBackground = false;

  constructor(calls: LinkCalls, dialer: Dialer, links: Links, session: Session, onError: (error: IggyError) => void) {
    this.#calls = calls;
    this.#dialer = dialer;
    this.#links = links;
    this.#session = session;
    this.#onError = onError;
  }

  /** The roster as one node knows it, for the sign-in, which tells the links itself. */
  async readForSignIn(link: Link, signal: AbortSignal): Promise<Roster> {
    const scope = new Scope(rosterTimeoutMs, signal);
    try {
      return await this.#read(link, scope);
    } finally {
      scope.dispose();
    }
  }

  /** Asks a node again. One that does not tell now leaves the last roster in place. */
  async refresh(link: Link, scope: Scope): Promise<Roster | undefined> {
    try {
      const roster = await this.#read(link, scope);
      // A link that lost its session meanwhile tells nothing about what the next one finds.
      if (link.boundFence === this.#session.fence) this.#links.apply(roster);
      return roster;
    } catch (error) {
      scope.throwIfEnded();
      this.#onError(asIggyError(error));
      return undefined;
    }
  }

  /** A node that can not be reached may have moved: another one may know where to. One question at a time. */
  refreshInBackground(): void {
    const slot = this.#links.readySlots()[0];
    if (slot === undefined || this.#isReadingInBackground) return;
    this.#isReadingInBackground = true;
    const scope = new Scope(rosterTimeoutMs);
    void this.refresh(slot.link, scope)
      .catch((error: unknown) => this.#onError(asIggyError(error)))
      .finally(() => {
        this.#isReadingInBackground = false;
        scope.dispose();
      });
  }

  /** Whether the node itself says that it leads the metadata. */
  async isMetadataPrimary(slot: Slot, scope: Scope): Promise<boolean> {
    if (this.#links.roster?.isSingleNode === true) return true;
    const leaderId = (await this.refresh(slot.link, scope))?.leaderId;
    return leaderId !== undefined && leaderId === slot.replicaId;
  }

  /** Whether a replica is in the roster and serves the transport, after one fresh read when it is not. */
  async knowsReplica(replicaId: number, scope: Scope): Promise<boolean> {
    if (this.#links.roster?.serves(replicaId) === true) return true;
    const slot = this.#links.anySlot();
    return slot !== undefined && (await this.refresh(slot.link, scope))?.serves(replicaId) === true;
  }

  async #read(link: Link, scope: Scope): Promise<Roster> {
    const protocol = await this.#dialer.protocol();
    return new Roster(await this.#calls.roster(link, scope), protocol);
  }
}
