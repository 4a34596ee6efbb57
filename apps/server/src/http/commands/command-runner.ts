import {
  ClientTransport,
  type Command,
  decodeResponse,
  encodeRequest,
  ErrorCode,
  IggyError,
  isPartitionOperation,
  Operation,
} from "@iggy/protocol";
import type { CommandTable } from "../../dispatch/command-table.js";
import { type Clock, NO_SESSION } from "../../request.js";
import type { Caller } from "./caller.js";
import type { HttpSession } from "./http-session.js";
import type { HttpSessions } from "./http-sessions.js";
import { type Fences, LocalRequest } from "./local-request.js";
import { randomU128 } from "./random-u128.js";
import { SessionEvicted } from "./session-evicted.js";

/** How long a metadata write may take, with its repetitions inside the server. */
const METADATA_WRITE_MILLIS = 30_000;
/** Pause before a metadata write that found no room is tried again. */
const REPEAT_MILLIS = 50;
/** Metadata writes of one session that wait for their turn or have it. */
const METADATA_WRITES_MAX = 64;

export interface RunOptions {
  /** Of a partition request. */
  readonly fences?: Fences;
  /** Set for a read that writes, such as a poll that stores its offset. Writes always run in a session. */
  readonly inSession?: boolean;
  /** Gives up a read that waits. A write that was handed on runs to its end all the same. */
  readonly signal?: AbortSignal | undefined;
}

/** A request that the planes have. */
export interface Started<Res> {
  /** It was answered at once. What is not yet answered was taken: a write will be ordered, or refused by its partition. */
  readonly isAnswered: boolean;
  readonly response: Promise<Res>;
}

export interface CommandRunnerDeps {
  readonly commands: Pick<CommandTable, "serveSignedIn">;
  readonly sessions: HttpSessions;
  readonly clock: Clock;
  /** Whether the account exists and is active. */
  readonly isActive: (account: Caller["account"]) => boolean;
  /** The node takes no requests any more. */
  readonly isDraining: () => boolean;
}

/** Whoever runs commands to their end. */
export type Commands = Pick<CommandRunner, "run">;

/**
 * Runs commands for callers without a connection. A command goes the way of a request frame: the same table, checks and
 * planes; what differs is that its answer is a value, and that its session is one of the caller's credential.
 */
export class CommandRunner {
  private readonly deps: CommandRunnerDeps;
  private underWay = 0;

  constructor(deps: CommandRunnerDeps) {
    this.deps = deps;
  }

  get requestsInFlight(): number {
    return this.underWay;
  }

  /**
   * Runs a command to its end. Rejects with an `IggyError`: that of a refusal, a `SessionEvicted` when the session of the
   * credential is gone, 58 when nothing was admitted, 57 when the outcome of a metadata write is unknown.
   */
  async run<Req, Res>(
    caller: Caller,
    command: Command<Req, Res>,
    request: Req,
    options: RunOptions = {},
  ): Promise<Res> {
    const { operation } = command;
    if (operation === Operation.NonReplicated || isPartitionOperation(operation)) {
      const { response } = await this.start(caller, command, request, options);
      return response;
    }
    const body = encodeRequest(command, request);
    const deadline = this.deps.clock.monotonicMillis() + METADATA_WRITE_MILLIS;
    const session = await this.deps.sessions.open(caller);
    if (session.metadataWrites >= METADATA_WRITES_MAX) throw notAccepted();
    const payload = await session.inTurn(() => this.writeMetadata(caller, session, operation, body, deadline));
    return decodeResponse(command, payload);
  }

  /** Hands a read or a partition write to the planes and resolves as soon as they have it. Rejects as `run` does. */
  async start<Req, Res>(
    caller: Caller,
    command: Command<Req, Res>,
    request: Req,
    { fences = {}, inSession = false, signal }: RunOptions = {},
  ): Promise<Started<Res>> {
    const isRead = command.operation === Operation.NonReplicated;
    const body = encodeRequest(command, request);
    const session = isRead && !inSession ? undefined : await this.deps.sessions.open(caller);
    const local = this.makeRequest(caller, session, command.operation, body, fences);
    this.hand(local, session, command.code, signal);
    const { isAnswered } = local;
    return { isAnswered, response: this.decoded(caller, command, local) };
  }

  private async decoded<Req, Res>(caller: Caller, command: Command<Req, Res>, local: LocalRequest): Promise<Res> {
    const payload = await local.payload;
    // A read may have waited for long; who reads without a session has none that would have ended with its user.
    if (local.session === NO_SESSION && !this.deps.isActive(caller.account)) {
      throw new IggyError(ErrorCode.Unauthenticated);
    }
    return decodeResponse(command, payload);
  }

  /** Every attempt has the same number, so that it can't be applied twice. */
  private async writeMetadata(
    caller: Caller,
    session: HttpSession,
    operation: number,
    body: Uint8Array,
    deadline: number,
  ): Promise<Uint8Array> {
    const first = this.makeRequest(caller, session, operation, body, {});
    for (let local = first; ; local = new LocalRequest(local.facts)) {
      const left = deadline - this.deps.clock.monotonicMillis();
      if (left <= 0) throw notAccepted();
      this.hand(local, session, 0, undefined);
      try {
        return await within(local.payload, left);
      } catch (error) {
        const isRefused = error instanceof IggyError && error.code === ErrorCode.TransientNotAccepted;
        if (!isRefused || this.deps.isDraining()) throw error;
        await new Promise((wake) => setTimeout(wake, REPEAT_MILLIS));
      }
    }
  }

  private makeRequest(
    { account, reader, peerAddress }: Caller,
    session: HttpSession | undefined,
    operation: number,
    body: Uint8Array,
    fences: Fences,
  ): LocalRequest {
    return new LocalRequest({
      client: session?.client ?? reader,
      session: session?.session ?? NO_SESSION,
      userId: account.userId,
      request: session?.nextRequest() ?? 0,
      requestChecksum: operation === Operation.NonReplicated || isPartitionOperation(operation) ? 0n : randomU128(),
      operation,
      fences,
      body,
      peer: { id: 0, transport: ClientTransport.http, address: peerAddress, binding: undefined },
    });
  }

  private hand(
    local: LocalRequest,
    session: HttpSession | undefined,
    code: number,
    signal: AbortSignal | undefined,
  ): void {
    const { commands, sessions, isDraining } = this.deps;
    const giveUp = (): void => local.cancel(ErrorCode.TransientNotAccepted);
    this.underWay++;
    session?.begin(local);
    signal?.addEventListener("abort", giveUp, { once: true });
    const settle = (): void => {
      this.underWay--;
      session?.finish(local);
      signal?.removeEventListener("abort", giveUp);
    };
    local.payload.then(settle, (error: unknown) => {
      settle();
      if (session !== undefined && error instanceof SessionEvicted) sessions.evicted(session);
    });
    if (isDraining()) local.deny(ErrorCode.TransientNotAccepted);
    else commands.serveSignedIn(local, code);
  }
}

const notAccepted = (): IggyError => new IggyError(ErrorCode.TransientNotAccepted);

/** Rejects with 57 when the answer takes too long: what was handed on may still be applied. */
async function within<T>(answer: Promise<T>, millis: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new IggyError(ErrorCode.TransientNotCommitted)), millis);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
