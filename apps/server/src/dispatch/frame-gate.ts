import {
  ErrorCode,
  EvictionReason,
  FrameCommand,
  IggyError,
  isClientAllowed,
  isKnownOperation,
  isMetadataOperation,
  Operation,
  RequestHeader,
  validateRequestHeader,
} from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import type { ReplyStream } from "../net/channel.js";
import type { Connection, ConnectionHandler } from "../net/connection.js";
import { evict } from "../net/evict.js";
import { RequestFrame } from "../net/request-frame.js";
import type { ConnectionTable } from "../sessions/connection-table.js";
import type { SessionLeases } from "../sessions/lease.js";
import { type CommandTable, isOpenCode, isSessionCode } from "./command-table.js";

/** Highest command byte that the protocol knows; a frame above it can't be from a peer of ours. */
const LAST_FRAME_COMMAND = FrameCommand.PrepareProgress;

export interface FrameGateDeps {
  readonly connections: ConnectionTable;
  readonly leases: SessionLeases;
  readonly commands: CommandTable;
  /** The session is registered and has not ended. */
  readonly isSessionLive: (client: bigint, session: number) => boolean;
  readonly log: {
    debug(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/**
 * First station of every frame: the header must be one that a client may send, and it must speak for the session that
 * its connection is bound to. What passes goes to the command table; everything else is answered here.
 */
export class FrameGate implements ConnectionHandler {
  private readonly deps: FrameGateDeps;
  private draining = false;

  constructor(deps: FrameGateDeps) {
    this.deps = deps;
  }

  /** From now on every request is refused as not admitted; the first step of a graceful stop. */
  drain(): void {
    this.draining = true;
  }

  frame(connection: Connection, frame: Uint8Array, memory: Memory | undefined, stream: ReplyStream): void {
    const header = new RequestHeader().at(frame, 0);
    if (header.command > LAST_FRAME_COMMAND) {
      connection.destroy();
      return;
    }
    if (header.command !== FrameCommand.Request) {
      connection.endStream(stream);
      return;
    }
    this.dropEndedBinding(connection);
    const request = new RequestFrame(connection, header, frame, connection.binding, memory, stream);
    const code = this.headerFault(header);
    if (code !== 0) request.deny(code);
    else if (this.draining) request.deny(ErrorCode.TransientNotAccepted);
    else this.route(request);
  }

  malformed(connection: Connection, error: Error): void {
    const peer = connection.channel.peerAddress;
    if (error instanceof IggyError) this.deps.log.debug({ peer, reason: error.message }, "closed: bytes are no frame");
    else this.deps.log.error({ peer, err: error }, "closed: a frame could not be handled");
  }

  closed(connection: Connection): void {
    this.deps.leases.heardOn(connection);
    this.deps.connections.remove(connection);
  }

  private headerFault(header: RequestHeader): number {
    if (!isKnownOperation(header.operation) || !isClientAllowed(header.operation)) return ErrorCode.InvalidCommand;
    // No client counts that far, and beyond it two numbers would look alike here.
    if (header.request > Number.MAX_SAFE_INTEGER) return ErrorCode.InvalidCommand;
    // Partitions refuse a history that is not theirs. Metadata has no use for the field, but keeps it for the reply.
    const isKept = isMetadataOperation(header.operation) || header.operation === Operation.DeleteSegments;
    if (isKept && header.partitionIncarnation > Number.MAX_SAFE_INTEGER) return ErrorCode.InvalidCommand;
    return validateRequestHeader(header) === undefined ? 0 : ErrorCode.InvalidCommand;
  }

  private route(request: RequestFrame): void {
    const { operation, connection } = request;
    const code = operation === Operation.NonReplicated ? request.header.commandCode : 0;
    // Logins of older protocols are answered alike, signed in or not.
    if (isSessionCode(code)) {
      evict(request, EvictionReason.MalformedLogin);
      return;
    }
    const open = operation === Operation.Register || operation === Operation.Logout || isOpenCode(code);
    if (connection.binding === undefined) {
      if (open) this.deps.commands.serve(request, code);
      else if (operation === Operation.NonReplicated) request.deny(ErrorCode.Unauthenticated);
      // An empty reply without an error would read as a write that succeeded.
      else evict(request, EvictionReason.NoSession);
      return;
    }
    if (open || this.speaksForBinding(request)) this.deps.commands.serve(request, code);
  }

  /** A bound connection speaks for its own session only. */
  private speaksForBinding(request: RequestFrame): boolean {
    const binding = request.connection.binding;
    if (binding === undefined || request.client !== binding.client) {
      request.deny(ErrorCode.Unauthenticated);
      return false;
    }
    // Above 2^53 the number is rounded, but never down to a session that exists.
    const named = request.header.session;
    if (named === binding.session) return true;
    if (named < binding.session) evict(request, EvictionReason.SessionTooLow);
    else request.deny(ErrorCode.InvalidSession);
    return false;
  }

  private dropEndedBinding(connection: Connection): void {
    const binding = connection.binding;
    if (binding !== undefined && !this.deps.isSessionLive(binding.client, binding.session)) {
      this.deps.connections.unbind(connection);
    }
  }
}
