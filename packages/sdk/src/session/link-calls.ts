import {
  bindSession,
  type ClientVersionInfo,
  type ClusterMetadata,
  type Command,
  decodeResponse,
  ErrorCode,
  getClusterMetadata,
  loginRegister,
  loginRegisterWithPat,
  logoutUser,
  Operation,
  ping,
  PROTOCOL_VERSION,
  type SessionReply,
  WireError,
} from "@iggy/protocol";
import { Scope } from "../calls/scope.js";
import {
  DeserializeError,
  DisconnectedError,
  errorOf,
  EvictionError,
  type IggyError,
  IncompatibleProtocolVersionError,
} from "../errors/index.js";
import { type Attempt, FrameBuffers, type Link, RequestFrame } from "../link/index.js";
import { type Random, retryPauseMs } from "../time/backoff.js";
import type { Secret } from "./credentials.js";
import { randomId } from "./random-identity.js";
import type { RequestNumbers } from "./request-numbers.js";
import type { Session } from "./session.js";

/** How a step of the sign-in on one link ended. */
export type StepOutcome =
  | { readonly kind: "ok" }
  /** A final answer: the same credentials or versions get it everywhere. */
  | { readonly kind: "refused"; readonly error: IggyError }
  /** The server does not know the session any more. */
  | { readonly kind: "session-lost" }
  /** Not on this link, or not now. */
  | { readonly kind: "failed"; readonly error: IggyError };

/** Longest wait for the answer to a bind, ms. */
const bindTimeoutMs = 10_000;

/**
 * Requests of the link layer itself: sign-in, bind, roster, ping, logout. They ask for no metadata position, and nothing
 * but the heartbeat and the connector sends them.
 */
export class LinkCalls {
  readonly #session: Session;
  readonly #numbers: RequestNumbers;
  readonly #version: ClientVersionInfo;
  readonly #random: Random;
  readonly #buffers = new FrameBuffers();

  constructor(
    session: Session,
    numbers: RequestNumbers,
    sdk: { readonly name: string; readonly version: string },
    random: Random,
  ) {
    this.#session = session;
    this.#numbers = numbers;
    this.#version = { protocolVersion: PROTOCOL_VERSION, sdkName: sdk.name, sdkVersion: sdk.version };
    this.#random = random;
  }

  /** Registers a session. A lost reply is no loss: the same frame gets the same session. */
  async register(link: Link, credentials: Secret, scope: Scope): Promise<StepOutcome> {
    const session = this.#session;
    const frame = new RequestFrame(
      {
        client: session.clientId,
        request: 0,
        session: 0n,
        operation: Operation.Register,
        commandCode: 0,
        requestChecksum: session.registerId,
        ...noContext,
      },
      this.#registerBuffer(credentials),
    );
    const { fence } = session;
    const attempt = await this.#untilAccepted(link, frame, scope);
    if (session.fence !== fence) return superseded;
    switch (attempt.kind) {
      case "success":
        return this.#establish(attempt.payload, 0n);
      case "refused":
        return {
          kind: "refused",
          error: errorOf(attempt.code, "sign-in refused", { commandCode: loginRegister.code }),
        };
      case "lost":
        return isVerdict(attempt.error)
          ? { kind: "refused", error: signInRefusal(attempt.error) }
          : { kind: "failed", error: attempt.error };
      case "ended":
        return { kind: "failed", error: endedError("sign-in", scope) };
    }
  }

  /** Attaches a link to the session that exists. */
  async bind(link: Link, signal: AbortSignal): Promise<StepOutcome> {
    const session = this.#session;
    const scope = new Scope(bindTimeoutMs, signal);
    try {
      const buffer = this.#buffers.encode(bindSession.request, {
        versionInfo: this.#version,
        identity: {
          clientId: session.clientId,
          session: session.epoch,
          metadataWatermark: session.watermark,
        },
        bindSecret: session.bindSecret,
      });
      const { fence } = session;
      const attempt = await link.exchange(this.#read(bindSession, buffer), scope);
      // What was said about an earlier session says nothing about this one.
      if (session.fence !== fence) return superseded;
      switch (attempt.kind) {
        case "success":
          return this.#establish(attempt.payload, session.epoch);
        case "refused":
          // A server that can not tell loses the session as well: only a new registration gives certainty.
          return attempt.code === ErrorCode.Unauthenticated || attempt.code === ErrorCode.TransientNotCommitted
            ? { kind: "session-lost" }
            : { kind: "failed", error: errorOf(attempt.code, "binding the session was refused") };
        case "lost":
          if (attempt.error instanceof EvictionError && attempt.error.code === ErrorCode.Unauthenticated) {
            return { kind: "session-lost" };
          }
          return isVerdict(attempt.error)
            ? { kind: "refused", error: attempt.error }
            : { kind: "failed", error: attempt.error };
        case "ended":
          return { kind: "failed", error: endedError("binding the session", scope) };
      }
    } finally {
      scope.dispose();
    }
  }

  /** Reads the roster as this node knows it. */
  async roster(link: Link, scope: Scope): Promise<ClusterMetadata> {
    const payload = payloadOf(await link.exchange(this.#read(getClusterMetadata), scope), "reading the roster", scope);
    try {
      return decodeResponse(getClusterMetadata, payload);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new DeserializeError(error.code, `the roster of ${link.address} does not decode: ${error.message}`, {
        commandCode: getClusterMetadata.code,
      });
    }
  }

  async ping(link: Link, scope: Scope): Promise<void> {
    payloadOf(await link.exchange(this.#read(ping), scope), "ping", scope);
  }

  /** Ends the session. It is gone as well when the reply says that it was not there. */
  async logout(link: Link, scope: Scope): Promise<void> {
    const frame = new RequestFrame(
      {
        client: this.#session.clientId,
        request: this.#numbers.next(),
        session: this.#session.epoch,
        operation: Operation.Logout,
        commandCode: 0,
        requestChecksum: randomId(),
        ...noContext,
      },
      this.#buffers.empty(),
    );
    payloadOf(await this.#untilAccepted(link, frame, scope), logoutUser.name, scope);
  }

  /** Repeats a frame while the server says "not yet" or "not sure". */
  async #untilAccepted(link: Link, frame: RequestFrame, scope: Scope): Promise<Attempt> {
    for (let retry = 0; ; retry++) {
      const attempt = await link.exchange(frame, scope);
      const again =
        attempt.kind === "refused" &&
        (attempt.code === ErrorCode.TransientNotAccepted || attempt.code === ErrorCode.TransientNotCommitted);
      if (!again) return attempt;
      const mayRetry = await scope.pause(retryPauseMs(retry, this.#random)).catch(() => false);
      if (!mayRetry) return attempt;
    }
  }

  #read<Req, Res>(command: Command<Req, Res>, buffer: Uint8Array = this.#buffers.empty()): RequestFrame {
    const session = this.#session;
    return new RequestFrame(
      {
        client: session.clientId,
        request: session.isBound ? this.#numbers.next() : 0,
        session: session.epoch,
        operation: Operation.NonReplicated,
        commandCode: command.code,
        requestChecksum: 0n,
        ...noContext,
      },
      buffer,
    );
  }

  #registerBuffer(credentials: Secret): Uint8Array {
    const shared = { versionInfo: this.#version, bindSecret: this.#session.bindSecret, clientContext: null };
    const given = credentials.reveal();
    return "token" in given
      ? this.#buffers.encode(loginRegisterWithPat.request, { ...shared, token: given.token })
      : this.#buffers.encode(loginRegister.request, { ...shared, username: given.username, password: given.password });
  }

  #establish(payload: Uint8Array, expected: bigint): StepOutcome {
    let reply: SessionReply;
    try {
      reply = decodeResponse(loginRegister, payload);
    } catch (cause) {
      return {
        kind: "refused",
        error: new DeserializeError(ErrorCode.InvalidFormat, "the sign-in reply does not decode", { cause }),
      };
    }
    if (reply.session === 0n) {
      return { kind: "refused", error: errorOf(ErrorCode.InvalidSession, "the server answered with session 0") };
    }
    if (expected !== 0n && reply.session !== expected) {
      return {
        kind: "refused",
        error: errorOf(ErrorCode.SessionMismatch, "the server bound another session", {
          context: { asked: expected, bound: reply.session },
        }),
      };
    }
    this.#session.established(reply.session, reply.userId);
    return { kind: "ok" };
  }
}

const superseded: StepOutcome = {
  kind: "failed",
  error: new DisconnectedError("the session was replaced while a link got it"),
};

const noContext = { partitionIncarnation: 0n, ownerGeneration: 0n, minimumMetadataOp: 0n } as const;

/** Evictions that answer a login for good. The others end a connection only. */
function isVerdict(error: IggyError): boolean {
  if (error instanceof IncompatibleProtocolVersionError) return true;
  return error instanceof EvictionError && error.code !== ErrorCode.StaleClient;
}

/** The error of a refused login, in the class of its code. */
const signInRefusal = (error: IggyError): IggyError =>
  error instanceof EvictionError
    ? errorOf(error.code, `sign-in refused: ${error.reason}`, { commandCode: loginRegister.code, cause: error })
    : error;

function payloadOf(attempt: Attempt, what: string, scope: Scope): Uint8Array {
  switch (attempt.kind) {
    case "success":
      return attempt.payload;
    case "refused":
      throw errorOf(attempt.code, `${what} was refused`);
    case "lost":
      throw attempt.error;
    case "ended":
      throw endedError(what, scope);
  }
}

const endedError = (what: string, scope: Scope): IggyError =>
  errorOf(ErrorCode.TransientNotAccepted, `${what} got no answer in ${String(Math.round(scope.elapsedMs))} ms`);
