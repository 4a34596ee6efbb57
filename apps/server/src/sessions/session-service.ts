import {
  bindSession,
  type BindSessionRequest,
  type ClientVersionInfo,
  clientVersionInfo,
  decode,
  decodeRequest,
  encodeResponse,
  encodeResult,
  ErrorCode,
  EvictionReason,
  isAdmittedVersion,
  loginRegister,
  type LoginRegisterRequest,
  loginRegisterWithPat,
  type LoginRegisterWithPatRequest,
  PROTOCOL_VERSION,
  versionText,
  WireError,
} from "@iggy/protocol";
import {
  type Account,
  type Authentication,
  loginEviction,
  type LoginRefusal,
  registrationEviction,
} from "@iggy/engine";
import { evict } from "../net/evict.js";
import type { RequestFrame } from "../net/request-frame.js";
import type { ConnectionTable } from "./connection-table.js";
import type { SessionBinding } from "../net/connection.js";

/** Logins whose credentials are verified at one time; each costs a password hash. More are refused as retryable. */
const LOGINS_MAX = 64;

/** The metadata side of sessions. */
export interface SessionAuthority {
  readonly appliedOp: number;
  authenticatePassword(username: string, password: string): Promise<Authentication>;
  authenticateToken(token: string): Authentication;
  /** Commits a registration. */
  register(
    client: bigint,
    requestChecksum: bigint,
    account: Account,
    bindSecret: Uint8Array,
  ): Promise<RegistrationOutcome>;
  /** Commits the end of the session that the request speaks for, and answers it. */
  logout(request: RequestFrame): void;
  /** The session that a proof belongs to, or the code that refuses it. */
  sessionToBind(request: BindSessionRequest): SessionBinding | number;
  whenApplied(op: number): true | Promise<boolean>;
}

export interface RegistrationOutcome {
  /** 0, or why nothing was registered. */
  readonly code: number;
  readonly session: number;
  /** Session reply, present with code 0. */
  readonly payload: Uint8Array;
}

export interface SessionServiceDeps {
  readonly authority: SessionAuthority;
  readonly connections: ConnectionTable;
  readonly serverVersion: string;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** Sign-in, bind and sign-out of connections. */
export class SessionService {
  private readonly deps: SessionServiceDeps;
  private loginsUnderWay = 0;

  constructor(deps: SessionServiceDeps) {
    this.deps = deps;
  }

  register(request: RequestFrame): void {
    const version = this.gate(request);
    if (version === undefined) return;
    const { connection } = request;
    const binding = connection.binding;
    if (binding !== undefined) {
      // Whoever wants another user logs out first; until then the connection keeps the one it has.
      this.answerLogin(request, binding.session, this.sessionReply(binding));
      return;
    }
    if (connection.loginUnderWay || this.loginsUnderWay >= LOGINS_MAX) {
      request.ok([encodeResult(ErrorCode.TransientNotAccepted)]);
      return;
    }
    connection.loginUnderWay = true;
    this.loginsUnderWay++;
    void this.login(request, version)
      .catch((error: unknown) => {
        this.deps.log.error({ err: error }, "a login failed unexpectedly");
        if (!request.isAnswered) request.ok([encodeResult(ErrorCode.TransientNotCommitted)]);
      })
      .finally(() => {
        connection.loginUnderWay = false;
        this.loginsUnderWay--;
      });
  }

  bind(request: RequestFrame): void {
    if (this.gate(request) === undefined) return;
    const command = decodeRequest(bindSession, request.body);
    const watermark = Number(command.identity.metadataWatermark);
    const bindNow = (): void => {
      if (!request.connection.isOpen) {
        request.finish();
        return;
      }
      const bound = this.deps.authority.sessionToBind(command);
      if (typeof bound === "number") {
        request.deny(bound);
        return;
      }
      this.deps.connections.bind(request.connection, bound);
      request.ok([this.sessionReply(bound)]);
    };
    const ready = this.deps.authority.whenApplied(watermark);
    if (ready === true) bindNow();
    else void ready.then((applied) => (applied ? bindNow() : request.deny(ErrorCode.TransientNotAccepted)));
  }

  logout(request: RequestFrame): void {
    const binding = request.connection.binding;
    if (binding === undefined) {
      request.ok([]);
      return;
    }
    if (request.client !== binding.client || request.header.session !== binding.session) {
      request.deny(ErrorCode.Unauthenticated);
      return;
    }
    this.deps.authority.logout(request);
  }

  /** The version comes first: what follows it may have another layout in another version. */
  private gate(request: RequestFrame): ClientVersionInfo | undefined {
    let info: ClientVersionInfo;
    try {
      info = decode(clientVersionInfo, request.body);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      evict(request, EvictionReason.MalformedLogin);
      return undefined;
    }
    if (isAdmittedVersion(info.protocolVersion)) return info;
    this.deps.log.warn(
      {
        peer: request.connection.channel.peerAddress,
        sdk: `${info.sdkName} ${info.sdkVersion}`,
        protocol: versionText(info.protocolVersion),
        admitted: versionText(PROTOCOL_VERSION),
      },
      "refused a client of another protocol version",
    );
    evict(request, EvictionReason.IncompatibleProtocol);
    return undefined;
  }

  private async login(request: RequestFrame, version: ClientVersionInfo): Promise<void> {
    const attempt = await this.authenticate(request.body);
    if (attempt.kind === "malformed") {
      evict(request, EvictionReason.MalformedLogin);
      return;
    }
    const peer = request.connection.channel.peerAddress;
    if (attempt.kind === "refused") {
      this.deps.log.warn({ peer }, "refused a login");
      evict(request, loginEviction(attempt.reason));
      return;
    }
    const { authority, connections, log } = this.deps;
    const outcome = await authority.register(
      request.client,
      request.requestChecksum,
      attempt.account,
      attempt.bindSecret,
    );
    if (outcome.code !== 0) {
      const reason = registrationEviction(outcome.code);
      if (reason === undefined) request.ok([encodeResult(outcome.code)]);
      else evict(request, reason);
      return;
    }
    if (!request.connection.isOpen) {
      request.finish();
      return;
    }
    const { userId } = attempt.account;
    connections.bind(request.connection, { client: request.client, session: outcome.session, userId });
    log.info({ peer, userId, session: outcome.session, sdk: `${version.sdkName} ${version.sdkVersion}` }, "signed in");
    this.answerLogin(request, outcome.session, outcome.payload);
  }

  /**
   * The header does not tell the two login bodies apart. A body is read as a password login first; when that does not
   * decode or its credentials are wrong and it reads as a token login, the token decides.
   */
  private async authenticate(body: Uint8Array): Promise<Attempt> {
    const { authority } = this.deps;
    const byPassword = decodedOrNothing(() => decodeRequest(loginRegister, body));
    const password = byPassword && (await authority.authenticatePassword(byPassword.username, byPassword.password));
    if (byPassword !== undefined && password?.kind === "account") return attemptOf(byPassword, password);
    const byToken = decodedOrNothing(() => decodeRequest(loginRegisterWithPat, body));
    if (byToken !== undefined) return attemptOf(byToken, authority.authenticateToken(byToken.token));
    if (byPassword !== undefined && password !== undefined) return attemptOf(byPassword, password);
    return { kind: "malformed" };
  }

  private answerLogin(request: RequestFrame, session: number, payload: Uint8Array): void {
    const commit = Math.max(this.deps.authority.appliedOp, session);
    request.okAt([encodeResult(0, payload)], session, commit);
  }

  private sessionReply(binding: SessionBinding): Uint8Array {
    return encodeResponse(loginRegister, {
      userId: binding.userId,
      session: BigInt(binding.session),
      serverProtocolVersion: PROTOCOL_VERSION,
      serverVersion: this.deps.serverVersion,
    });
  }
}

type Attempt =
  | { readonly kind: "account"; readonly account: Account; readonly bindSecret: Uint8Array }
  | { readonly kind: "refused"; readonly reason: LoginRefusal }
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
