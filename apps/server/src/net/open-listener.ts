import { ClientTransport } from "@iggy/protocol";
import type { ServerConfig } from "../config/index.js";
import type { Clock } from "../request.js";
import type { ConnectionTable } from "../sessions/connection-table.js";
import { openFilesLimit } from "../system/index.js";
import type { Channel } from "./channel.js";
import { Connection, type ConnectionHandler, type ConnectionLimits } from "./connection.js";
import type { Block } from "@iggy/uring";
import type { RingParts } from "../backend/index.js";
import type { ReceiveMemory } from "../memory/receive-memory.js";
import type { Listener } from "./listener.js";
import { RingTcpListener } from "./ring-tcp-listener.js";
import { TcpListener } from "./tcp-listener.js";
import { loadTlsMaterial } from "./tls-material.js";

/** Frames of a connection that is not signed in. The largest login takes about a kilobyte. */
const UNBOUND_FRAME_BYTES_MAX = 64 * 1024;
/** Bytes that the requests of one client may hold while they are under way; one more of the largest size may exceed it. */
const IN_FLIGHT_BYTES_HIGH = 32 * 1024 * 1024;
/** Reply bytes that may wait for one slow client before its requests are read no further. */
const QUEUED_BYTES_HIGH = 8 * 1024 * 1024;
/** Reply bytes above which a client that does not read loses its connection: a few replies of the largest size. */
const QUEUED_BYTES_MAX = 256 * 1024 * 1024;
/** Open connections when neither the configuration nor the system names a limit. */
const CONNECTIONS_DEFAULT = 4096;
/** The id of a connection is a u32 on the wire, whose last value means "none". */
const CONNECTION_ID_MAX = 0xffff_fffe;

export interface ListenerDeps {
  readonly config: Pick<ServerConfig, "tcp" | "messageBus">;
  readonly connections: ConnectionTable;
  readonly handler: ConnectionHandler;
  readonly clock: Clock;
  /** Numbers of connections begin with the first and go on by the step, so that those of several shards differ. */
  readonly ids?: { readonly first: number; readonly step: number };
  /** Where connections without TLS are served; undefined leaves them to libuv, as those with TLS always are. */
  readonly ring?: { readonly parts: RingParts; readonly memory: ReceiveMemory<Block> } | undefined;
  readonly log: { warn(fields: object, message: string): void };
}

/** Binds the TCP listener; every connection that it accepts is entered in the table and served by the handler. */
export async function openListener({
  config,
  connections,
  handler,
  clock,
  ids = { first: 1, step: 1 },
  ring,
  log,
}: ListenerDeps): Promise<Listener> {
  let nextId = ids.first;
  const limits: ConnectionLimits = {
    maxFrameBytes: config.messageBus.maxMessageSizeBytes,
    maxUnboundFrameBytes: UNBOUND_FRAME_BYTES_MAX,
    inFlightMax: config.messageBus.clientQueueCapacity,
    inFlightBytesHigh: IN_FLIGHT_BYTES_HIGH,
    queuedBytesHigh: QUEUED_BYTES_HIGH,
    queuedBytesMax: QUEUED_BYTES_MAX,
  };
  const { address, tls } = config.tcp;
  const connect = (channel: Channel): Connection => {
    const connection = new Connection(nextId, ClientTransport.tcp, channel, handler, limits, clock);
    nextId = nextId > CONNECTION_ID_MAX - ids.step ? ids.first : nextId + ids.step;
    connections.add(connection);
    return connection;
  };
  if (ring !== undefined && !tls.enabled) {
    return new RingTcpListener(ring.parts, ring.memory, {
      ...address,
      closeGraceMillis: config.messageBus.closeGraceMillis,
      connectionsMax: connectionsMax(config),
      onChannel: connect,
      onError: (error) => log.warn({ err: error }, "connections can't be accepted for the moment"),
    });
  }
  const listener = new TcpListener({
    ...address,
    ...(tls.enabled ? { tls: await loadTlsMaterial(tls) } : {}),
    handshakeTimeoutMillis: config.messageBus.handshakeGraceMillis,
    closeGraceMillis: config.messageBus.closeGraceMillis,
    connectionsMax: connectionsMax(config),
    onChannel: (channel) => channel.attach(connect(channel)),
  });
  await listener.listen();
  return listener;
}

/** 0 is no limit; without a value half of what the system lets the process open. */
function connectionsMax(config: Pick<ServerConfig, "messageBus">): number {
  const configured = config.messageBus.connectionsMax;
  if (configured === 0) return Infinity;
  return configured ?? Math.floor((openFilesLimit() ?? 2 * CONNECTIONS_DEFAULT) / 2);
}
