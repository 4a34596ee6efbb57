import { Permits } from "../calls/permits.js";
import { Scope, ScopeEnded } from "../calls/scope.js";
import {
  ClientShutdownError,
  DisconnectedError,
  EvictionError,
  type IggyError,
  NotConnectedError,
  UnauthenticatedError,
} from "../errors/index.js";
import type { Link, LinkSettings } from "../link/index.js";
import type { Roster } from "../routing/roster.js";
import type { Router, Slot } from "../routing/router.js";
import type { Random } from "../time/backoff.js";
import { type Endpoint, endpointText, type Transport } from "../transport/index.js";
import { Bootstrap } from "./bootstrap.js";
import { asIggyError, FinalRefusal, throwIfAborted } from "./connect-errors.js";
import type { Secret } from "./credentials.js";
import { Dialer } from "./dialer.js";
import type { Emit } from "./events.js";
import type { LinkCalls } from "./link-calls.js";
import { Links } from "./links.js";
import type { ReconnectSettings } from "./reconnect-settings.js";
import { Rosters } from "./rosters.js";
import type { Session } from "./session.js";
import { SignIn } from "./sign-in.js";
import type { SignInSource } from "./sign-in-source.js";

export interface ConnectorSettings {
  readonly transport: () => Promise<Transport>;
  readonly endpoints: readonly Endpoint[];
  readonly reconnect: ReconnectSettings;
  readonly maxFrameSize: number;
  readonly random: Random;
  readonly emit: Emit;
  /** The session is gone, with everything that belonged to it. */
  readonly onSessionReset: () => void;
  /** A link has its session; a new one, or one that was signed in again. */
  readonly onReady: (isNewLink: boolean) => void;
  /** The heartbeat has nothing to do until the next `onReady`. */
  readonly onDown: () => void;
}

/** A session that ends with the client is signed out when the server answers within this time. */
const farewellMs = 500;

type Phase =
  /** Not asked to connect yet: the first call does. */
  | "fresh"
  | "up"
  /** Nothing connects until the caller asks for it. */
  | "disconnected"
  | "closed";

/**
 * What a client wants of its connection, and who it is. Links come from the bootstrap and from the replicas of the roster,
 * their session from the sign-in; everything that changes the session goes through here, one step at a time.
 */
export class Connector implements Router {
  readonly #settings: ConnectorSettings;
  readonly #session: Session;
  readonly #calls: LinkCalls;
  readonly #source: SignInSource;
  readonly #signIn: SignIn;
  readonly #dialer: Dialer;
  readonly #links: Links;
  readonly #rosters: Rosters;
  readonly #bootstrap: Bootstrap;
  readonly #turn = new Permits(1);
  #phase: Phase = "fresh";
  #lastError: IggyError | undefined;
  /** Logins and logouts under way or waiting for their turn. */
  #identityChanges = 0;

  constructor(settings: ConnectorSettings, session: Session, calls: LinkCalls, source: SignInSource) {
    this.#settings = settings;
    this.#session = session;
    this.#calls = calls;
    this.#source = source;
    const { reconnect, random, emit } = settings;
    this.#dialer = new Dialer(settings.transport, this.#linkSettings());
    this.#signIn = new SignIn({ emit, onSessionLost: () => this.#reset() }, session, calls, source);
    this.#links = new Links(
      {
        reconnect,
        random,
        emit,
        open: (endpoint, signal) => this.#openReplica(endpoint, signal),
        mayDial: () => this.#phase === "up" && session.isBound,
        onUp: () => this.#replicaIsUp(),
        onFailure: (_replica, error) => {
          this.#lastError = error;
          this.#rosters.refreshInBackground();
        },
      },
      session,
    );
    this.#rosters = new Rosters(calls, this.#dialer, this.#links, session, (error) => (this.#lastError = error));
    this.#bootstrap = new Bootstrap({
      reconnect,
      random,
      emit,
      candidates: () => this.#candidates(),
      keeper: () => this.#links.keeper,
      dial: (endpoint, signal) => this.#dialer.dial(endpoint, signal),
      attach: (link, signal) => this.#attach(link, signal),
      isWanted: () => session.isBound,
      onError: (error) => (this.#lastError = error),
    });
  }

  /** Address of the metadata primary's link, else of the bootstrap's, else of the configured endpoint. */
  get address(): string {
    const first = this.#settings.endpoints[0];
    return this.#links.address ?? (first === undefined ? "" : endpointText(first));
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Why there is no link, for the error of a call that waited for one. */
  get lastError(): IggyError | undefined {
    return this.#lastError;
  }

  // Router

  async beginCall(scope: Scope): Promise<number> {
    if (this.#identityChanges > 0) {
      await this.#turn.take(scope);
      this.#turn.give();
    }
    return this.#session.signIn;
  }

  async whenReady(scope: Scope): Promise<void> {
    while (!this.#links.isReady) {
      this.#throwUnlessWanted();
      if (this.#links.keeper !== undefined && !this.#source.canSignIn) throw this.#unauthenticated();
      await this.#waitForLink(scope);
    }
  }

  metadataSlot(): Slot | undefined {
    return this.#links.metadataSlot();
  }

  replicaSlot(replicaId: number): Slot | undefined {
    return this.#links.replicaSlot(replicaId);
  }

  readySlots(): readonly Slot[] {
    return this.#links.readySlots();
  }

  async whenOpened(replica: number | "metadata", scope: Scope): Promise<void> {
    if (replica !== "metadata" && this.#links.roster?.serves(replica) === false) {
      await this.knowsReplica(replica, scope);
    }
    const opening = this.#links.opening(replica);
    if (opening === undefined) return;
    await scope.wait<undefined>((resolve) => {
      void opening.opened.then(() => resolve(undefined));
      return () => undefined;
    });
  }

  faultOf(replicaId: number): IggyError | undefined {
    return this.#links.faultOf(replicaId);
  }

  async refreshRoster(slot: Slot, scope: Scope): Promise<void> {
    await this.#rosters.refresh(slot.link, scope);
  }

  isMetadataPrimary(slot: Slot, scope: Scope): Promise<boolean> {
    return this.#rosters.isMetadataPrimary(slot, scope);
  }

  knowsReplica(replicaId: number, scope: Scope): Promise<boolean> {
    return this.#rosters.knowsReplica(replicaId, scope);
  }

  // What the caller asks for

  /** Brings the client up; a credential that was refused before is tried again, and so are links that gave up. */
  async connect(scope: Scope): Promise<void> {
    if (this.#phase === "closed") throw new ClientShutdownError();
    if (!this.#source.canSignIn) this.#source.restore();
    this.#phase = "up";
    this.#links.restartAll();
    while (!this.#links.isReady && (this.#links.keeper === undefined || this.#source.canSignIn)) {
      this.#throwUnlessWanted();
      await this.#waitForLink(scope);
    }
  }

  async login(secret: Secret, scope: Scope): Promise<void> {
    await this.#changeIdentity(scope, async () => {
      if (this.#phase === "closed") throw new ClientShutdownError();
      this.#session.callerChanged();
      await this.#bootstrap.stop();
      this.#leave(await this.#signOut(scope));
      this.#source.remember(secret);
      this.#phase = "up";
      while (!this.#links.isReady) {
        this.#throwUnlessWanted();
        if (!this.#source.canSignIn) throw this.#unauthenticated();
        await this.#waitForLink(scope);
      }
    });
  }

  async logout(scope: Scope): Promise<void> {
    await this.#changeIdentity(scope, async () => {
      this.#throwUnlessWanted();
      if (!this.#links.isReady) throw this.#unauthenticated();
      this.#session.callerChanged();
      await this.#bootstrap.stop();
      const keeper = await this.#signOut(scope);
      this.#source.forget();
      this.#leave(keeper);
      this.#settings.onDown();
      this.#settings.emit("signedOut", {});
    });
  }

  /** Ends session and links. Nothing connects again by itself. */
  async disconnect(): Promise<void> {
    if (this.#phase === "closed" || this.#phase === "disconnected") return;
    this.#phase = "disconnected";
    this.#session.callerChanged();
    await this.#tearDown();
    this.#source.restore();
    this.#settings.emit("disconnected", {});
  }

  async close(): Promise<void> {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.#session.callerChanged();
    await this.#tearDown();
    this.#source.forget();
    this.#settings.emit("shutdown", {});
  }

  /** The links that keep the session alive. */
  heartbeatLinks(): readonly Link[] {
    return this.#links.readySlots().map(({ link }) => link);
  }

  /** One ping. A link that does not answer is of no use. */
  async ping(link: Link, scope: Scope): Promise<void> {
    try {
      await this.#calls.ping(link, scope);
    } catch (error) {
      link.fail(new DisconnectedError("the server did not answer a heartbeat", { cause: error }));
    }
  }

  /** Replicas that used up their redials get new ones, as long as lost links are dialed again at all. */
  restartLinks(): void {
    if (this.#settings.reconnect.enabled) this.#links.restartAll();
  }

  /** A ping that the caller asked for; it needs no session. */
  async pingAny(scope: Scope): Promise<void> {
    for (;;) {
      if (this.#phase === "disconnected") {
        throw new NotConnectedError("the client is not connected", { cause: this.#lastError });
      }
      this.#throwUnlessWanted();
      const link = this.#links.keeper ?? this.#links.anySlot()?.link;
      if (link !== undefined) return this.#calls.ping(link, scope);
      await this.#waitForLink(scope);
    }
  }

  // Links

  #throwUnlessWanted(): void {
    switch (this.#phase) {
      case "closed":
        throw new ClientShutdownError();
      case "disconnected":
        throw new DisconnectedError("the client is disconnected", { cause: this.#lastError });
      case "fresh":
      case "up":
        return;
    }
  }

  #unauthenticated(): IggyError {
    const refusal = this.#source.refusal;
    return refusal === undefined
      ? new UnauthenticatedError("not signed in")
      : new UnauthenticatedError("not signed in: the last sign-in was refused", { cause: refusal });
  }

  async #waitForLink(scope: Scope): Promise<void> {
    if (this.#phase === "fresh") this.#phase = "up";
    await this.#bootstrap.join(scope);
  }

  /** The configured endpoints, then those of the last roster, each spelling once. */
  #candidates(): readonly Endpoint[] {
    const known = [...this.#settings.endpoints, ...(this.#links.roster?.endpoints() ?? [])];
    return [...new Map(known.map((endpoint) => [endpointText(endpoint), endpoint])).values()];
  }

  #linkSettings(): LinkSettings {
    return {
      maxFrameSize: this.#settings.maxFrameSize,
      onCommit: (link, commit) => {
        // A late reply of an earlier session says nothing about this one.
        if (link.boundFence === undefined || link.boundFence === this.#session.fence) this.#session.observe(commit);
      },
      onClose: (link, error) => this.#onLinkClosed(link, error),
    };
  }

  async #openReplica(endpoint: Endpoint, signal: AbortSignal): Promise<Link> {
    const link = await this.#dialer.dialInBackground(endpoint, signal);
    try {
      await this.#signIn.attach(link, signal);
      if (link.boundFence === undefined) throw this.#unauthenticated();
      return link;
    } catch (error) {
      link.close();
      throw error;
    }
  }

  #replicaIsUp(): void {
    // The bootstrap is for clients without any link.
    void this.#bootstrap.stop();
    this.#links.startAll();
    this.#settings.onReady(false);
  }

  /** Signs in on a link of the bootstrap and reads the roster. Then it serves calls. */
  async #attach(link: Link, signal: AbortSignal): Promise<void> {
    const isNew = link !== this.#links.keeper;
    let roster: Roster | undefined;
    try {
      await this.#signIn.attach(link, signal);
      if (this.#session.isBound) roster = await this.#rosters.readForSignIn(link, signal);
      throwIfAborted(signal);
      if (!link.isOpen) throw new DisconnectedError("the link was lost during sign-in");
    } catch (error) {
      if (isNew || !(error instanceof FinalRefusal)) link.close();
      throw error;
    }
    if (isNew && !this.#links.isReady) this.#settings.emit("connected", { address: link.address });
    this.#links.welcome(link, roster);
    if (this.#links.isReady) this.#settings.onReady(isNew);
  }

  #onLinkClosed(link: Link, error: IggyError | undefined): void {
    if (error instanceof EvictionError) this.#settings.emit("eviction", { reason: error.reason, error });
    if (!this.#links.closed(link, error)) return;
    const isReady = this.#links.isReady;
    if (!isReady) this.#settings.onDown();
    if (this.#phase !== "up" || error === undefined) return;
    this.#lastError = error;
    if (isReady) return;
    if (this.#settings.reconnect.enabled) {
      this.#bootstrap.replace(link);
      return;
    }
    this.#phase = "disconnected";
    this.#settings.emit("disconnected", { error });
  }

  // Session

  #reset(): void {
    const wasBound = this.#session.isBound;
    this.#session.reset();
    this.#links.dropStale();
    this.#settings.onSessionReset();
    if (wasBound) this.#settings.emit("sessionReset", {});
  }

  /** Ends session and links, except for one that the next sign-in uses. */
  #leave(keeper: Link | undefined): void {
    this.#links.stop(keeper);
    this.#reset();
  }

  /**
   * Tells the server that the session ends. Resolves with a link that is free for the next sign-in. When the end is not
   * confirmed there is none: the lease ends the session, and its links must not be taken for those of another user.
   */
  async #signOut(scope: Scope): Promise<Link | undefined> {
    const slot = this.#links.anySlot();
    if (slot === undefined) return this.#links.keeper;
    try {
      await this.#calls.logout(slot.link, scope);
      return slot.link.isOpen ? slot.link : undefined;
    } catch (error) {
      if (error instanceof ScopeEnded) throw error;
      this.#lastError = asIggyError(error);
      return undefined;
    }
  }

  async #tearDown(): Promise<void> {
    this.#settings.onDown();
    await this.#bootstrap.stop();
    if (this.#links.isReady) {
      const scope = new Scope(farewellMs);
      await this.#signOut(scope).finally(() => scope.dispose());
    }
    this.#leave(undefined);
    this.#links.forgetRoster();
  }

  async #changeIdentity(scope: Scope, step: () => Promise<void>): Promise<void> {
    this.#identityChanges++;
    try {
      await this.#turn.take(scope);
      try {
        await step();
      } finally {
        this.#turn.give();
      }
    } finally {
      this.#identityChanges--;
    }
  }
}
