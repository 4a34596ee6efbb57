import { randomBytes } from "node:crypto";
import type { MetadataEffect } from "@iggy/engine";
import { ErrorCode, IggyError } from "@iggy/protocol";
import type { Clock } from "../../request.js";
import type { SessionLeases } from "../../sessions/lease.js";
import type { Registry } from "../../sessions/login-desk.js";
import type { Caller } from "./caller.js";
import { HttpSession } from "./http-session.js";
import { randomU128 } from "./random-u128.js";
import { SessionOwnedByOther } from "./session-owned.js";

/** Of the table of clients, HTTP takes at most the half: every token could open a session. */
const TABLE_SHARE = 2;
const BIND_SECRET_BYTES = 32;
/** How often sessions of expired credentials are looked for. */
const EXPIRY_PERIOD_MILLIS = 1000;

export interface HttpSessionsDeps {
  readonly registry: Pick<Registry, "register">;
  readonly clientsTableMax: number;
  readonly leases: SessionLeases;
  readonly clock: Clock;
  /** Commits the end of a session; false when that is not possible now. */
  readonly end: (session: HttpSession) => Promise<boolean>;
  readonly log: { error(fields: object, message: string): void };
}

interface Entry {
  readonly expiresAtMicros: number | undefined;
  readonly opening: Promise<HttpSession>;
  session: HttpSession | undefined;
}

/**
 * The sessions of credentials. The first write of a credential opens one, and concurrent first writes share it; it lives
 * until logout, until the credential or its lease expires, or until its user is deactivated.
 */
export class HttpSessions {
  private readonly deps: HttpSessionsDeps;
  private readonly sessionsMax: number;
  private readonly byCredential = new Map<string, Entry>();
  private readonly byClient = new Map<bigint, HttpSession>();
  private readonly timer: NodeJS.Timeout;
  private isEnding = false;

  constructor(deps: HttpSessionsDeps) {
    this.deps = deps;
    this.sessionsMax = Math.floor(deps.clientsTableMax / TABLE_SHARE);
    this.timer = setInterval(() => void this.endExpired(), EXPIRY_PERIOD_MILLIS);
    this.timer.unref();
  }

  get size(): number {
    return this.byCredential.size;
  }

  /** The session of a credential, opened when there is none. Rejects with 58 while there is no room for one more. */
  open({ account, credential }: Caller): Promise<HttpSession> {
    const known = this.byCredential.get(credential.key);
    if (known !== undefined) {
      if (known.session !== undefined) this.touch(known.session);
      return known.opening;
    }
    if (this.byCredential.size >= this.sessionsMax) {
      return Promise.reject(new IggyError(ErrorCode.TransientNotAccepted, "no room for one more HTTP session"));
    }
    const entry: Entry = {
      expiresAtMicros: credential.expiresAtMicros,
      opening: this.register(credential.key, account).then((session) => {
        entry.session = session;
        return session;
      }),
      session: undefined,
    };
    this.byCredential.set(credential.key, entry);
    entry.opening.catch(() => this.forget(credential.key, entry));
    return entry.opening;
  }

  /** Whatever a caller does keeps its session alive. */
  heard(credentialKey: string): void {
    const session = this.byCredential.get(credentialKey)?.session;
    if (session !== undefined) this.touch(session);
  }

  /** Takes into the leases that sessions with a request under way are there. */
  heardBusy(): void {
    for (const session of this.byClient.values()) if (session.isBusy) this.touch(session);
  }

  /** Ends the session of a credential, if it has one. Rejects with 58 when that is not possible now. */
  async logout(credentialKey: string): Promise<void> {
    const session = await this.byCredential.get(credentialKey)?.opening;
    if (session === undefined) return;
    if (!(await this.deps.end(session))) throw new IggyError(ErrorCode.TransientNotAccepted);
  }

  /** Forgets a session that the planes no longer know. */
  evicted(session: HttpSession): void {
    this.drop(session);
  }

  /** Learns what committed operations ended. */
  follow(effects: readonly MetadataEffect[]): void {
    for (const effect of effects) {
      if (effect.kind !== "session-ended") continue;
      const session = this.byClient.get(effect.clientId);
      if (session !== undefined) this.drop(session);
    }
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async register(credentialKey: string, account: Caller["account"]): Promise<HttpSession> {
    const client = randomU128();
    const bindSecret = randomBytes(BIND_SECRET_BYTES);
    const { code, session } = await this.deps.registry.register(client, randomU128(), account, bindSecret);
    if (code === ErrorCode.InvalidClientId) throw new SessionOwnedByOther();
    if (code !== 0) throw new IggyError(code);
    const opened = new HttpSession(credentialKey, account.userId, client, session);
    this.byClient.set(client, opened);
    this.touch(opened);
    return opened;
  }

  private touch({ client }: HttpSession): void {
    this.deps.leases.touch(client, this.deps.clock.monotonicMillis());
  }

  private drop(session: HttpSession): void {
    this.byClient.delete(session.client);
    const entry = this.byCredential.get(session.credentialKey);
    if (entry?.session === session) this.byCredential.delete(session.credentialKey);
    session.end(ErrorCode.StaleClient);
  }

  private forget(credentialKey: string, entry: Entry): void {
    if (this.byCredential.get(credentialKey) === entry) this.byCredential.delete(credentialKey);
  }

  /** Sessions whose credential ran out. One whose end finds no room is due again next time. */
  private async endExpired(): Promise<void> {
    if (this.isEnding) return;
    this.isEnding = true;
    try {
      const now = this.deps.clock.nowMicros();
      for (const { session, expiresAtMicros } of [...this.byCredential.values()]) {
        const isDue = expiresAtMicros !== undefined && expiresAtMicros <= now;
        if (session === undefined || !isDue || session.isBusy) continue;
        if (!(await this.deps.end(session))) return;
      }
    } catch (error) {
      this.deps.log.error({ err: error }, "sessions of expired credentials could not be ended");
    } finally {
      this.isEnding = false;
    }
  }
}
