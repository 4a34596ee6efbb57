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
  PROTOCOL_VERSION,
  versionText,
  WireError,
} from "@iggy/protocol";
import { evict } from "../net/evict.js";
import type { OperationRequest } from "../metadata/operation-request.js";
import type { SessionBinding } from "../net/connection.js";
import type { RequestFrame } from "../net/request-frame.js";
import type { ConnectionTable } from "./connection-table.js";
import type { SignIn } from "./login-desk.js";

/** The metadata side of sessions. */
export interface SessionAuthority {
  readonly appliedOp: number;
  /** Verifies a login and commits its session. The body is used until the promise settles. */
  signIn(client: bigint, requestChecksum: bigint, body: Uint8Array): Promise<SignIn>;
  /** Commits the end of the session that the request speaks for, and answers it. */
  logout(request: OperationRequest): void;
  /** The session that a proof belongs to, or the code that refuses it. */
  sessionToBind(request: BindSessionRequest): SessionBinding | number;
  whenApplied(op: number): true | Promise<boolean>;
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
    if (connection.loginUnderWay) {
      request.ok([encodeResult(ErrorCode.TransientNotAccepted)]);
      return;
    }
    connection.loginUnderWay = true;
    void this.login(request, version)
      .catch((error: unknown) => {
        this.deps.log.error({ err: error }, "a login failed unexpectedly");
        if (!request.isAnswered) request.ok([encodeResult(ErrorCode.TransientNotCommitted)]);
      })
      .finally(() => {
        connection.loginUnderWay = false;
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
    const { authority, connections, log } = this.deps;
    const outcome = await authority.signIn(request.client, request.requestChecksum, request.body);
    const peer = request.connection.channel.peerAddress;
    switch (outcome.kind) {
      case "evict":
        if (outcome.isRefusal) log.warn({ peer }, "refused a login");
        evict(request, outcome.reason);
        return;
      case "code":
        request.ok([encodeResult(outcome.code)]);
        return;
      case "session":
    }
    if (!request.connection.isOpen) {
      request.finish();
      return;
    }
    const { session, userId, payload } = outcome;
    connections.bind(request.connection, { client: request.client, session, userId });
    log.info({ peer, userId, session, sdk: `${version.sdkName} ${version.sdkVersion}` }, "signed in");
    this.answerLogin(request, session, payload);
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
