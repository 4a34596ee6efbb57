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
import type { Link } from "../link/index.js";
import { Roster } from "../routing/roster.js";
import type { Router, Slot } from "../routing/router.js";
import { type Random, redialPauseMs } from "../time/backoff.js";
import { sleep } from "../time/sleep.js";
import { monotonicMs } from "../time/timers.js";
import { type Endpoint, endpointText, type Transport } from "../transport/index.js";
import type { Secret } from "./credentials.js";
import { dial } from "./dial.js";
import { asIggyError, FinalRefusal, isConfigurationFault, throwIfAborted } from "./connect-errors.js";
import type { Emit } from "./events.js";
import type { LinkCalls } from "./link-calls.js";
import type { Session } from "./session.js";
import type { SignInSource } from "./sign-in-source.js";

export interface ReconnectSettings {
  readonly enabled: boolean;
  readonly intervalMs: number;
  readonly maxIntervalMs: number;
  /** Passes over the endpoints after the first one. */
  readonly maxRetries: number;
  /** A link that stayed up this long resets the pauses. */
  readonly reestablishAfterMs: number;
}

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

/** Longest time of one sign-in, its retries included. */
const signInTimeoutMs = 30_000;
/** A session that ends with the client is signed out when the server answers within this time. */
const farewellMs = 500;

type Phase =
  /** Not asked to connect yet: the first call does. */
  | "fresh"
  | "up"
  /** Nothing connects until the caller asks for it. */
  | "disconnected"
  | "closed";

/** One run over the endpoints, shared by everybody who waits for a link. */
interface Sweep {
  readonly done: Promise<void>;
  readonly abort: AbortController;
}

/**
 * Owns the link and the session: dials, signs in, binds, reconnects. Everything that changes the session goes through
 * here, one step at a time.
 */
export class Connector implements Router {
  readonly #settings: ConnectorSettings;
  readonly #session: Session;
  readonly #calls: LinkCalls;
  readonly #source: SignInSource;
  readonly #turn = new Permits(1);
  #phase: Phase = "fresh";
  #link: Link | undefined;
  #roster: Roster | undefined;
  #sweep: Sweep | undefined;
  #lastError: IggyError | undefined;
  #waiters = 0;
  #redials = 0;
  /** Logins and logouts under way or waiting for their turn. */
  #identityChanges = 0;
  #transport: Promise<Transport> | undefined;

  constructor(settings: ConnectorSettings, session: Session, calls: LinkCalls, source: SignInSource) {
    this.#settings = settings;
    this.#session = session;
    this.#calls = calls;
    this.#source = source;
  }

  /** Address of the link, else of the configured endpoint. */
  get address(): string {
    const first = this.#settings.endpoints[0];
    return this.#link?.address ?? (first === undefined ? "" : endpointText(first));
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
    while (!this.#isReady()) {
      this.#throwUnlessWanted();
      if (this.#link !== undefined && !this.#source.canSignIn) throw this.#unauthenticated();
      await this.#waitForSweep(scope);
    }
  }

  /** Waits for a link, signed in or not. */
  async whenLinked(scope: Scope): Promise<Link> {
    for (;;) {
      if (this.#phase === "disconnected") {
        throw new NotConnectedError("the client is not connected", { cause: this.#lastError });
      }
      this.#throwUnlessWanted();
      if (this.#link !== undefined) return this.#link;
      await this.#waitForSweep(scope);
    }
  }

  metadataSlot(): Slot | undefined {
    return this.#slot();
  }

  /** There is one link, whatever the replica. */
  replicaSlot(): Slot | undefined {
    return this.#slot();
  }

  readySlots(): readonly Slot[] {
    const slot = this.#slot();
    return slot === undefined ? [] : [slot];
  }

  async refreshRoster(slot: Slot, scope: Scope): Promise<void> {
    await this.#tryRoster(slot.link, scope);
  }

  async isMetadataPrimary(slot: Slot, scope: Scope): Promise<boolean> {
    if (this.#roster?.isSingleNode === true) return true;
    const leaderId = (await this.#tryRoster(slot.link, scope))?.leaderId;
    return leaderId !== undefined && leaderId === slot.replicaId;
  }

  async knowsReplica(replicaId: number, scope: Scope): Promise<boolean> {
    if (this.#roster?.serves(replicaId) === true) return true;
    const slot = this.#slot();
    return slot !== undefined && (await this.#tryRoster(slot.link, scope))?.serves(replicaId) === true;
  }

  // What the caller asks for

  /** Brings the client up; a credential that was refused before is tried again. */
  async connect(scope: Scope): Promise<void> {
    if (this.#phase === "closed") throw new ClientShutdownError();
    if (!this.#source.canSignIn) this.#source.restore();
    this.#phase = "up";
    while (this.#link === undefined || (this.#source.canSignIn && !this.#isReady())) {
      this.#throwUnlessWanted();
      await this.#waitForSweep(scope);
    }
  }

  async login(secret: Secret, scope: Scope): Promise<void> {
    await this.#changeIdentity(scope, async () => {
      if (this.#phase === "closed") throw new ClientShutdownError();
      this.#session.callerChanged();
      await this.#stopSweep();
      if (this.#isReady()) await this.#signOut(scope);
      this.#reset();
      this.#source.remember(secret);
      this.#phase = "up";
      while (!this.#isReady()) {
        this.#throwUnlessWanted();
        if (!this.#source.canSignIn) throw this.#unauthenticated();
        await this.#waitForSweep(scope);
      }
    });
  }

  async logout(scope: Scope): Promise<void> {
    await this.#changeIdentity(scope, async () => {
      this.#throwUnlessWanted();
      if (!this.#isReady()) throw this.#unauthenticated();
      this.#session.callerChanged();
      await this.#signOut(scope);
      this.#source.forget();
      this.#reset();
      this.#settings.onDown();
      this.#settings.emit("signedOut", {});
    });
  }

  /** Ends session and link. Nothing connects again by itself. */
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

  /** One ping. A link that does not answer is of no use. */
  async ping(scope: Scope): Promise<void> {
    const link = this.#link;
    if (link === undefined || !this.#isReady()) return;
    try {
      await this.#calls.ping(link, scope);
    } catch (error) {
      link.fail(new DisconnectedError("the server did not answer a heartbeat", { cause: error }));
    }
  }

  /** A ping that the caller asked for; it needs no session. */
  async pingAny(scope: Scope): Promise<void> {
    const link = await this.whenLinked(scope);
    await this.#calls.ping(link, scope);
  }

  // Links

  #isReady(): boolean {
    const link = this.#link;
    return link?.boundFence === this.#session.fence && this.#session.isBound;
  }

  #slot(): Slot | undefined {
    const link = this.#link;
    return link === undefined || !this.#isReady()
      ? undefined
      : { link, replicaId: this.#roster?.replicaAt(link.endpoint) };
  }

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

  /** Joins the run over the endpoints, or starts one. Rejects with its failure, or when the call ends first. */
  async #waitForSweep(scope: Scope): Promise<void> {
    this.#waiters++;
    try {
      if (this.#phase === "fresh") this.#phase = "up";
      const sweep = this.#sweep ?? this.#startSweep(0);
      await scope.wait<undefined>((resolve, reject) => {
        const goOn = (): void => resolve(undefined);
        // A run that was given up says nothing; who still wants a link starts the next one.
        sweep.done.then(goOn, (error: unknown) => (sweep.abort.signal.aborted ? goOn() : reject(asIggyError(error))));
        return () => undefined;
      });
    } finally {
      this.#waiters--;
    }
  }

  #startSweep(pauseMs: number): Sweep {
    const abort = new AbortController();
    const done = this.#runSweep(abort.signal, pauseMs).finally(() => {
      if (this.#sweep?.abort === abort) this.#sweep = undefined;
    });
    // Nobody may be waiting; the failure stays readable as the cause of later errors.
    done.catch((error: unknown) => {
      this.#lastError = asIggyError(error);
    });
    this.#sweep = { done, abort };
    return this.#sweep;
  }

  async #stopSweep(): Promise<void> {
    const sweep = this.#sweep;
    if (sweep === undefined) return;
    sweep.abort.abort(new DisconnectedError("the connection attempt was given up"));
    await sweep.done.catch(() => undefined);
  }

  async #runSweep(signal: AbortSignal, pauseMs: number): Promise<void> {
    const { reconnect, random } = this.#settings;
    // Calls that wait keep the process alive with their own deadlines.
    if (pauseMs > 0) await sleep(pauseMs, { signal, background: true });
    for (let pass = 0; ; pass++) {
      const error = await this.#pass(signal);
      if (error === undefined) return;
      this.#lastError = error;
      // A fault of the configuration is the same on the next pass.
      if (isConfigurationFault(error)) throw error;
      if (!reconnect.enabled || pass >= reconnect.maxRetries) throw error;
      if (this.#waiters === 0 && !this.#session.isBound) throw error;
      const delay = redialPauseMs(pass, reconnect.intervalMs, reconnect.maxIntervalMs, random);
      this.#settings.emit("reconnecting", { attempt: pass + 1, delay });
      await sleep(delay, { signal, background: true });
    }
  }

  /** Tries each endpoint once. Returns the last error, throws a final one. */
  async #pass(signal: AbortSignal): Promise<IggyError | undefined> {
    let last: IggyError | undefined;
    const existing = this.#link;
    const candidates = existing === undefined ? this.#candidates() : [existing.endpoint, ...this.#candidates()];
    for (const [index, endpoint] of candidates.entries()) {
      throwIfAborted(signal);
      try {
        const link = index === 0 && existing?.isOpen === true ? existing : await this.#dial(endpoint, signal);
        await this.#attach(link, signal);
        return undefined;
      } catch (error) {
        throwIfAborted(signal);
        last = asIggyError(error);
        if (error instanceof FinalRefusal) throw error.refusal;
      }
    }
    return last ?? new NotConnectedError("no endpoint is configured");
  }

  /** The configured endpoints, then those of the last roster, each spelling once. */
  #candidates(): readonly Endpoint[] {
    const known = [...this.#settings.endpoints, ...(this.#roster?.endpoints() ?? [])];
    return [...new Map(known.map((endpoint) => [endpointText(endpoint), endpoint])).values()];
  }

  async #dial(endpoint: Endpoint, signal: AbortSignal): Promise<Link> {
    return dial(
      await this.#transportOnce(),
      endpoint,
      {
        maxFrameSize: this.#settings.maxFrameSize,
        onCommit: (link, commit) => {
          // A late reply of an earlier session says nothing about this one.
          if (link.boundFence === undefined || link.boundFence === this.#session.fence) this.#session.observe(commit);
        },
        onClose: (link, error) => this.#onLinkClosed(link, error),
      },
      signal,
    );
  }

  /** Gives the link its session: binds the one that lives, or signs in for a new one. Then the link serves calls. */
  async #attach(link: Link, signal: AbortSignal): Promise<void> {
    try {
      if (this.#session.isBound && !(await this.#bind(link, signal))) this.#reset();
      if (!this.#session.isBound) await this.#register(link, signal);
      throwIfAborted(signal);
      if (!link.isOpen) throw new DisconnectedError("the link was lost during sign-in");
      if (this.#session.isBound) {
        link.boundFence = this.#session.fence;
        const scope = new Scope(signInTimeoutMs, signal);
        try {
          await this.#readRoster(link, scope);
        } finally {
          scope.dispose();
        }
      }
    } catch (error) {
      if (link !== this.#link || !(error instanceof FinalRefusal)) link.close();
      throw error;
    }
    const isNew = link !== this.#link;
    this.#link = link;
    if (isNew) {
      const replicaId = this.#roster?.replicaAt(link.endpoint);
      this.#settings.emit("connected", { address: link.address });
      this.#settings.emit("link-up", { address: link.address, ...(replicaId === undefined ? {} : { replicaId }) });
    }
    if (this.#isReady()) this.#settings.onReady(isNew);
  }

  /** False when the server does not know the session any more. */
  async #bind(link: Link, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#calls.bind(link, signal);
    switch (outcome.kind) {
      case "ok":
        return true;
      case "session-lost":
        return false;
      case "failed":
        throw outcome.error;
      case "refused":
        throw new FinalRefusal(outcome.error);
    }
  }

  async #register(link: Link, signal: AbortSignal): Promise<void> {
    const secret = await this.#nextCredentials();
    if (secret === undefined) return;
    const scope = new Scope(signInTimeoutMs, signal);
    try {
      const outcome = await this.#calls.register(link, secret, scope);
      switch (outcome.kind) {
        case "ok":
          this.#settings.emit("signedIn", { userId: this.#session.userId ?? 0 });
          return;
        case "failed":
          throw outcome.error;
        case "session-lost":
        case "refused": {
          const refusal = outcome.kind === "refused" ? outcome.error : new UnauthenticatedError();
          this.#source.forget(refusal);
          throw new FinalRefusal(refusal);
        }
      }
    } finally {
      scope.dispose();
    }
  }

  async #nextCredentials(): Promise<Secret | undefined> {
    try {
      return await this.#source.next();
    } catch (cause) {
      throw new UnauthenticatedError("the credentials function failed", { cause });
    }
  }

  #onLinkClosed(link: Link, error: IggyError | undefined): void {
    if (error instanceof EvictionError) this.#settings.emit("eviction", { reason: error.reason, error });
    if (link !== this.#link) return;
    this.#settings.onDown();
    this.#dropLink(link, error);
    if (this.#phase !== "up" || error === undefined) return;
    this.#lastError = error;
    const { reconnect, random } = this.#settings;
    if (!reconnect.enabled) {
      this.#phase = "disconnected";
      this.#settings.emit("disconnected", { error });
      return;
    }
    if (monotonicMs() - link.openedAt >= reconnect.reestablishAfterMs) this.#redials = 0;
    // Without a session there is nothing to keep alive: the next call dials.
    if (this.#sweep !== undefined || !this.#session.isBound) return;
    const delay = redialPauseMs(this.#redials, reconnect.intervalMs, reconnect.maxIntervalMs, random);
    this.#redials++;
    this.#settings.emit("reconnecting", { attempt: this.#redials, delay });
    this.#startSweep(delay);
  }

  #dropLink(link: Link, error?: IggyError): void {
    this.#link = undefined;
    const replicaId = this.#roster?.replicaAt(link.endpoint);
    this.#settings.emit("link-down", {
      address: link.address,
      ...(replicaId === undefined ? {} : { replicaId }),
      ...(error === undefined ? {} : { error }),
    });
  }

  // Session

  #reset(): void {
    const wasBound = this.#session.isBound;
    this.#session.reset();
    if (this.#link !== undefined) this.#link.boundFence = undefined;
    this.#settings.onSessionReset();
    if (wasBound) this.#settings.emit("sessionReset", {});
  }

  /** Tells the server that the session ends. When the link is lost meanwhile the lease ends it. */
  async #signOut(scope: Scope): Promise<void> {
    const link = this.#link;
    if (link === undefined) return;
    try {
      await this.#calls.logout(link, scope);
    } catch (error) {
      if (error instanceof ScopeEnded) throw error;
      // An answer about a session that is gone anyway: the identity is forgotten either way.
      this.#lastError = asIggyError(error);
    }
  }

  async #tearDown(): Promise<void> {
    this.#settings.onDown();
    await this.#stopSweep();
    const link = this.#link;
    if (link !== undefined && this.#isReady()) {
      const scope = new Scope(farewellMs);
      await this.#signOut(scope).finally(() => scope.dispose());
    }
    if (link !== undefined && link === this.#link) this.#dropLink(link);
    this.#roster = undefined;
    this.#reset();
    link?.close();
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

  /** A node that does not tell its roster now leaves the last one in place. */
  async #tryRoster(link: Link, scope: Scope): Promise<Roster | undefined> {
    try {
      return await this.#readRoster(link, scope);
    } catch (error) {
      scope.throwIfEnded();
      this.#lastError = asIggyError(error);
      return undefined;
    }
  }

  async #readRoster(link: Link, scope: Scope): Promise<Roster> {
    const transport = await this.#transportOnce();
    this.#roster = new Roster(await this.#calls.roster(link, scope), transport.protocol);
    return this.#roster;
  }

  /** Loaded at the first dial, so that a transport nobody uses costs nothing. */
  #transportOnce(): Promise<Transport> {
    this.#transport ??= this.#settings.transport();
    return this.#transport;
  }
}
