import type { ServerConfig } from "../config/index.js";
import type { Clock } from "../request.js";
import type { ConnectionTable } from "../sessions/connection-table.js";
import type { Channel } from "./channel.js";
import { Connection, type ConnectionHandler, type ConnectionLimits } from "./connection.js";

/** Frames of a connection that is not signed in. The largest login takes about a kilobyte. */
const UNBOUND_FRAME_BYTES_MAX = 64 * 1024;
/** Bytes that the requests of one client may hold while they are under way; one more of the largest size may exceed it. */
const IN_FLIGHT_BYTES_HIGH = 32 * 1024 * 1024;
/** Reply bytes that may wait for one slow client before its requests are read no further. */
const QUEUED_BYTES_HIGH = 8 * 1024 * 1024;
/** Reply bytes above which a client that does not read loses its connection: a few replies of the largest size. */
const QUEUED_BYTES_MAX = 256 * 1024 * 1024;
/** The id of a connection is a u32 on the wire, whose last value means "none". */
const CONNECTION_ID_MAX = 0xffff_fffe;

export interface ReceptionDeps {
  readonly messageBus: Pick<ServerConfig["messageBus"], "maxMessageSizeBytes" | "clientQueueCapacity">;
  readonly connections: ConnectionTable;
  readonly handler: ConnectionHandler;
  readonly clock: Clock;
  /** Numbers of connections begin with the first and go on by the step, so that those of several shards differ. */
  readonly ids?: { readonly first: number; readonly step: number };
}

/**
 * Where connections of every transport come in: each gets its number, the limits and its place in the table, and is
 * served by the one handler.
 */
export class Reception {
  /** Of every connection, unless its transport has narrower ones. */
  readonly limits: ConnectionLimits;
  private readonly deps: ReceptionDeps;
  private readonly ids: { readonly first: number; readonly step: number };
  private nextId: number;

  constructor(deps: ReceptionDeps) {
    this.deps = deps;
    this.ids = deps.ids ?? { first: 1, step: 1 };
    this.nextId = this.ids.first;
    this.limits = {
      maxFrameBytes: deps.messageBus.maxMessageSizeBytes,
      maxUnboundFrameBytes: UNBOUND_FRAME_BYTES_MAX,
      inFlightMax: deps.messageBus.clientQueueCapacity,
      inFlightBytesHigh: IN_FLIGHT_BYTES_HIGH,
      queuedBytesHigh: QUEUED_BYTES_HIGH,
      queuedBytesMax: QUEUED_BYTES_MAX,
    };
  }

  /** `transport` is a number of `ClientTransport`. */
  connect(transport: number, channel: Channel, limits: ConnectionLimits = this.limits): Connection {
    const { connections, handler, clock } = this.deps;
    const connection = new Connection(this.nextId, transport, channel, handler, limits, clock);
    const { first, step } = this.ids;
    this.nextId = this.nextId > CONNECTION_ID_MAX - step ? first : this.nextId + step;
    connections.add(connection);
    return connection;
  }
}
