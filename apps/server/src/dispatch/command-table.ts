import { commandByCode, ErrorCode, IggyError, isMetadataOperation, Operation } from "@iggy/protocol";
import type { RequestFrame } from "../net/request-frame.js";
import type { CommandRequest } from "./command-request.js";
import type { PartitionCommands } from "./partition-commands.js";

/** Logins of protocols before 0.12: their bodies are reserved, and no client of ours sends them. */
const LEGACY_LOGINS: ReadonlySet<number> = new Set([38, 44]);
const PING = 1;
const BIND_SESSION = 15;
const CANCEL_DEFERRED = 108;

export const isSessionCode = (code: number): boolean => LEGACY_LOGINS.has(code);

/** Commands that an unbound connection may send. */
export const isOpenCode = (code: number): boolean => code === PING || code === BIND_SESSION;

export interface SessionCommands {
  register(request: RequestFrame): void;
  bind(request: RequestFrame): void;
  logout(request: RequestFrame): void;
}

export interface MetadataCommands {
  /** A replicated operation of a client. */
  submit(request: CommandRequest): void;
  /** A read of committed metadata; false when the code is none. */
  read(request: CommandRequest, code: number): boolean;
}

/** Reads about the node itself; false when the code is none. */
export interface NodeCommands {
  read(request: CommandRequest, code: number): boolean;
}

export interface CommandTableDeps {
  readonly sessions: SessionCommands;
  readonly metadata: MetadataCommands;
  readonly partitions: PartitionCommands;
  readonly node: NodeCommands;
  readonly log: { error(fields: object, message: string): void };
}

/** From the operation and the code of an admitted request to the part of the server that answers it. */
export class CommandTable {
  private readonly deps: CommandTableDeps;
  private readonly partitionReads: ReadonlyMap<number, (request: CommandRequest) => void>;
  private readonly operations: ReadonlyMap<number, (request: CommandRequest) => void>;

  constructor(deps: CommandTableDeps) {
    const { partitions } = deps;
    this.deps = deps;
    this.partitionReads = new Map([
      [100, (request) => partitions.poll(request)],
      [105, (request) => partitions.route(request)],
      [106, (request) => partitions.pollDeferred(request)],
      [109, (request) => partitions.fetch(request)],
      [120, (request) => partitions.getOffset(request)],
    ]);
    this.operations = new Map([
      [Operation.SendMessages, (request) => partitions.send(request)],
      [Operation.StoreConsumerOffset, (request) => partitions.storeOffset(request)],
      [Operation.DeleteConsumerOffset, (request) => partitions.deleteOffset(request)],
    ]);
  }

  /** A request of a connection. `code` is that of a non-replicated request, 0 otherwise. */
  serve(request: RequestFrame, code: number): void {
    try {
      if (!this.serveConnection(request, code)) this.serveCommand(request, code);
    } catch (error) {
      this.refuse(request, code, error);
    }
  }

  /** A request of somebody signed in who has no connection. */
  serveSignedIn(request: CommandRequest, code: number): void {
    try {
      this.serveCommand(request, code);
    } catch (error) {
      this.refuse(request, code, error);
    }
  }

  /** What is about the connection and its session; false when it is none of that. */
  private serveConnection(request: RequestFrame, code: number): boolean {
    const { sessions } = this.deps;
    if (request.operation === Operation.Register) sessions.register(request);
    else if (request.operation === Operation.Logout) sessions.logout(request);
    else if (request.operation !== Operation.NonReplicated) return false;
    else if (code === PING) request.ok([]);
    else if (code === BIND_SESSION) sessions.bind(request);
    else if (code === CANCEL_DEFERRED) {
      // Never answered itself: the read that it cancels is.
      request.connection.cancelWaiting(request.request);
      request.finish();
    } else return false;
    return true;
  }

  private serveCommand(request: CommandRequest, code: number): void {
    if (request.operation === Operation.NonReplicated) this.serveRead(request, code);
    else this.serveOperation(request);
  }

  private serveOperation(request: CommandRequest): void {
    const serve = this.operations.get(request.operation);
    if (serve !== undefined) serve(request);
    else if (isMetadataOperation(request.operation) || request.operation === Operation.DeleteSegments) {
      this.deps.metadata.submit(request);
    } else request.deny(ErrorCode.InvalidCommand);
  }

  private serveRead(request: CommandRequest, code: number): void {
    const serve = this.partitionReads.get(code);
    if (serve !== undefined) serve(request);
    else if (!this.deps.metadata.read(request, code) && !this.deps.node.read(request, code)) {
      request.deny(refusalOf(code));
    }
  }

  private refuse(request: CommandRequest, code: number, error: unknown): void {
    if (!(error instanceof IggyError)) {
      this.deps.log.error({ err: error, operation: request.operation, code }, "a request failed unexpectedly");
    }
    if (!request.isAnswered) request.deny(error instanceof IggyError ? error.code : ErrorCode.Error);
  }
}

/** A replicated command sent as a read would apply on this node only; anything else unknown is no command. */
function refusalOf(code: number): number {
  const command = commandByCode(code);
  return command !== undefined && command.operation !== Operation.NonReplicated
    ? ErrorCode.FeatureUnavailable
    : ErrorCode.InvalidCommand;
}
