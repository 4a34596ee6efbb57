import { type Account, type Authentication, loginEviction, registrationEviction } from "@iggy/engine";
import {
  decodeRequest,
  ErrorCode,
  EvictionReason,
  loginRegister,
  type LoginRegisterRequest,
  loginRegisterWithPat,
  type LoginRegisterWithPatRequest,
  WireError,
} from "@iggy/protocol";

/** Logins whose credentials are verified at one time; each costs a password hash. More are refused as retryable. */
const LOGINS_MAX = 64;

/** Where accounts are known and sessions are committed. */
export interface Registry {
  authenticatePassword(username: string, password: string): Promise<Authentication>;
  authenticateToken(token: string): Authentication;
  /** Commits a registration. */
  register(
    client: bigint,
    requestChecksum: bigint,
    account: Account,
    bindSecret: Uint8Array,
  ): Promise<RegistrationOutcome>;
}

export interface RegistrationOutcome {
  /** 0, or why nothing was registered. */
  readonly code: number;
  readonly session: number;
  /** Session reply, present with code 0. */
  readonly payload: Uint8Array;
}

/** What came of a login. */
export type SignIn =
  | { readonly kind: "session"; readonly session: number; readonly userId: number; readonly payload: Uint8Array }
  /** Not now; the connection stays. */
  | { readonly kind: "code"; readonly code: number }
  /** The connection ends. `isRefusal`: its credentials are wrong. */
  | { readonly kind: "evict"; readonly reason: number; readonly isRefusal: boolean };

/** Verifies logins and registers their sessions: once per node, beside the metadata. */
export class LoginDesk {
  private readonly registry: Registry;
  private underWay = 0;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  async signIn(client: bigint, requestChecksum: bigint, body: Uint8Array): Promise<SignIn> {
    const outcome = await this.withinLimit(() => this.verifyAndRegister(client, requestChecksum, body));
    return outcome ?? { kind: "code", code: ErrorCode.TransientNotAccepted };
  }

  /** Verifies a password and registers nothing; undefined when too many logins are under way. */
  authenticatePassword(username: string, password: string): Promise<Authentication | undefined> {
    return this.withinLimit(() => this.registry.authenticatePassword(username, password));
  }

  private async withinLimit<T>(verify: () => Promise<T>): Promise<T | undefined> {
    if (this.underWay >= LOGINS_MAX) return undefined;
    this.underWay++;
    try {
      return await verify();
    } finally {
      this.underWay--;
    }
  }

  private async verifyAndRegister(client: bigint, requestChecksum: bigint, body: Uint8Array): Promise<SignIn> {
    const attempt = await this.authenticate(body);
    if (attempt.kind === "malformed") return { kind: "evict", reason: EvictionReason.MalformedLogin, isRefusal: false };
    if (attempt.kind === "refused") return { kind: "evict", reason: loginEviction(attempt.reason), isRefusal: true };
    const { account, bindSecret } = attempt;
    const { code, session, payload } = await this.registry.register(client, requestChecksum, account, bindSecret);
    if (code === 0) return { kind: "session", session, userId: account.userId, payload };
    const reason = registrationEviction(code);
    return reason === undefined ? { kind: "code", code } : { kind: "evict", reason, isRefusal: false };
  }

  /**
   * The header does not tell the two login bodies apart. A body is read as a password login first; when that does not
   * decode or its credentials are wrong and it reads as a token login, the token decides.
   */
  private async authenticate(body: Uint8Array): Promise<Attempt> {
    const { registry } = this;
    const byPassword = decodedOrNothing(() => decodeRequest(loginRegister, body));
    const password = byPassword && (await registry.authenticatePassword(byPassword.username, byPassword.password));
    if (byPassword !== undefined && password?.kind === "account") return attemptOf(byPassword, password);
    const byToken = decodedOrNothing(() => decodeRequest(loginRegisterWithPat, body));
    if (byToken !== undefined) return attemptOf(byToken, registry.authenticateToken(byToken.token));
    if (byPassword !== undefined && password !== undefined) return attemptOf(byPassword, password);
    return { kind: "malformed" };
  }
}

type Attempt =
  | { readonly kind: "account"; readonly account: Account; readonly bindSecret: Uint8Array }
  | Extract<Authentication, { readonly kind: "refused" }>
  | { readonly kind: "malformed" };

const attemptOf = (
  login: LoginRegisterRequest | LoginRegisterWithPatRequest,
  authentication: Authentication,
): Attempt =>
  authentication.kind === "account" ? { ...authentication, bindSecret: login.bindSecret } : authentication;

function decodedOrNothing<T>(decodeBody: () => T): T | undefined {
  try {
    return decodeBody();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}
