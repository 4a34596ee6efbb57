import { commandByCode, ErrorCode, IggyError, isMetadataOperation, Operation } from "@iggy/protocol";
import type { RequestFrame } from "../net/request-frame.js";
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
  submit(request: RequestFrame): void;
  /** A read of committed metadata; false when the code is none. */
  read(request: RequestFrame, code: number): boolean;
}

/** Reads about the node itself; false when the code is none. */
export interface NodeCommands {
  read(request: RequestFrame, code: number): boolean;
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
  private readonly partitionReads: ReadonlyMap<number, (request: RequestFrame) => void>;
  private readonly operations: ReadonlyMap<number, (request: RequestFrame) => void>;

  constructor(deps: CommandTableDeps) {
    const { partitions, sessions } = deps;
    this.deps = deps;
    this.partitionReads = new Map([
      [100, (request) => partitions.poll(request)],
      [105, (request) => partitions.route(request)],
      [106, (request) => partitions.pollDeferred(request)],
      [109, (request) => partitions.fetch(request)],
      [120, (request) => partitions.getOffset(request)],
    ]);
    this.operations = new Map([
      [Operation.Register, (request) => sessions.register(request)],
      [Operation.Logout, (request) => sessions.logout(request)],
      [Operation.SendMessages, (request) => partitions.send(request)],
      [Operation.StoreConsumerOffset, (request) => partitions.storeOffset(request)],
      [Operation.DeleteConsumerOffset, (request) => partitions.deleteOffset(request)],
    ]);
  }

  /** `code` is that of a non-replicated request, 0 otherwise. */
  serve(request: RequestFrame, code: number): void {
    try {
      if (request.operation === Operation.NonReplicated) this.serveRead(request, code);
      else this.serveOperation(request);
    } catch (error) {
      if (!(error instanceof IggyError)) {
        this.deps.log.error({ err: error, operation: request.operation, code }, "a request failed unexpectedly");
      }
      if (!request.isAnswered) request.deny(error instanceof IggyError ? error.code : ErrorCode.Error);
    }
  }

  private serveOperation(request: RequestFrame): void {
    const serve = this.operations.get(request.operation);
    if (serve !== undefined) serve(request);
    else if (isMetadataOperation(request.operation) || request.operation === Operation.DeleteSegments) {
      this.deps.metadata.submit(request);
    } else request.deny(ErrorCode.InvalidCommand);
  }

  private serveRead(request: RequestFrame, code: number): void {
    if (code === PING) request.ok([]);
    else if (code === BIND_SESSION) this.deps.sessions.bind(request);
    else if (code === CANCEL_DEFERRED) {
      // Never answered itself: the read that it cancels is.
      request.connection.cancelWaiting(request.request);
      request.finish();
    } else {
      const serve = this.partitionReads.get(code);
      if (serve !== undefined) serve(request);
      else if (!this.deps.metadata.read(request, code) && !this.deps.node.read(request, code)) {
        request.deny(refusalOf(code));
      }
    }
  }
}

/** A replicated command sent as a read would apply on this node only; anything else unknown is no command. */
function refusalOf(code: number): number {
  const command = commandByCode(code);
  return command !== undefined && command.operation !== Operation.NonReplicated
    ? ErrorCode.FeatureUnavailable
    : ErrorCode.InvalidCommand;
}
