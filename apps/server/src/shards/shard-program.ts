import { MetadataMachine } from "@iggy/engine";
import type { Io } from "@iggy/storage";
import { afterTimeout } from "../after-timeout.js";
import type { Backend } from "../backend/index.js";
import { CommandTable } from "../dispatch/command-table.js";
import { FrameGate } from "../dispatch/frame-gate.js";
import { PartitionCommands } from "../dispatch/partition-commands.js";
import { type BatchCipherFactory, partitionCipher } from "../encryption/index.js";
import { MetadataView } from "../metadata/metadata-view.js";
import { MachineCatalog } from "../metadata/partition-catalog.js";
import { touchedTopics } from "../metadata/touched-topics.js";
import type { Connection, ConnectionHandler } from "../net/connection.js";
import { Reception } from "../net/reception.js";
import { RingSockets } from "../net/ring-sockets.js";
import { SocketSlots } from "../net/socket-slots.js";
import { factsOf } from "../node/connection-facts.js";
import { openPartitionPlane, type PartitionEnvironment, type PartitionPlane } from "../partitions/index.js";
import type { Clock } from "../request.js";
import { ConnectionTable } from "../sessions/connection-table.js";
import { SessionLeases } from "../sessions/lease.js";
import { SessionService } from "../sessions/session-service.js";
import { Silence } from "../sessions/silence.js";
import { unbindEnded } from "../sessions/unbind-ended.js";
import { timerMillis } from "../timer-limit.js";
import { SERVER_VERSION } from "../version.js";
import type { ShardBoot } from "./boot.js";
import { Calls } from "./calls.js";
import { CountersBoard } from "./counters-board.js";
import { ForwardingPlane } from "./forwarding-plane.js";
import { Mesh } from "./lanes/mesh.js";
import type { RecordReader } from "./lanes/record.js";
import type { Importer } from "./lanes/transfer.js";
import { MainKind } from "./messages/kinds.js";
import { readPrepare } from "./messages/metadata.js";
import { servePartitions } from "./own-partitions.js";
import { PartitionServer } from "./partition-server.js";
import { Placement } from "./placement.js";
import { METADATA_SHARD, RemoteMetadata } from "./remote-metadata.js";
import { RemoteNode } from "./remote-node.js";
import { sessionParkingOf } from "./session-parking.js";
import {
  closeConnections,
  drain,
  endConnections,
  groupDrained,
  heardSessions,
  listConnections,
  openKey,
  requestsInFlight,
  startPartitions,
} from "./shard-calls.js";
import { sharedPool } from "./shared-pool.js";

export interface ShardLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface ShardProgramDeps {
  readonly boot: ShardBoot;
  readonly io: Io;
  readonly clock: Clock;
  readonly makeCipher: BatchCipherFactory;
  readonly machinery?: PartitionEnvironment["machinery"];
  readonly backend?: Pick<Backend, "addon" | "ring"> | undefined;
  readonly logOf: (part: string) => ShardLog;
}

/**
 * A shard that does not order metadata: its partitions and connections, and metadata as shard 0 tells it. It learns
 * everything else through the lanes.
 */
export class ShardProgram implements ConnectionHandler {
  private readonly connections = new ConnectionTable();
  private readonly partitions: PartitionPlane;
  private readonly deps: ShardProgramDeps;
  private readonly mesh: Mesh;
  private readonly calls: Calls;
  private readonly view: MetadataView;
  private readonly board: CountersBoard;
  private readonly leases = new SessionLeases();
  private readonly plane: ForwardingPlane;
  private readonly server: PartitionServer;
  private readonly metadata: RemoteMetadata;
  private readonly gate: FrameGate;
  private readonly sockets: RingSockets | undefined;
  private readonly timers: NodeJS.Timeout[] = [];

  constructor(deps: ShardProgramDeps) {
    const { boot, io, clock, logOf } = deps;
    const { plan, seat, boards } = boot;
    const machine = MetadataMachine.restore(boot.snapshot, plan.metadata);
    const placement = new Placement(seat.shardCount);
    const sessionParking = sessionParkingOf(plan);
    this.deps = deps;
    const { addon, ring } = deps.backend ?? {};
    this.mesh = new Mesh(seat, { addon, pool: ring && sharedPool(ring) });
    this.calls = new Calls(this.mesh);
    this.board = new CountersBoard(seat.shard, placement, boards, machine.partitions());
    this.view = new MetadataView(machine, {
      countersOf: (partition) => {
        const isOwn = placement.shardOf(partition) === seat.shard;
        const stats = isOwn ? this.partitions.stats(partition) : this.board.read(partition);
        return stats && { ...stats, inSync: plan.nodes };
      },
    });
    this.partitions = openPartitionPlane({
      io,
      dataDirectory: plan.dataDirectory,
      identity: plan.identity,
      environment: {
        cluster: plan.cluster,
        replica: plan.replica,
        clock,
        timers: {
          after: afterTimeout,
        },
        catalog: new MachineCatalog(
          () => machine,
          plan.nodes,
          (partition) => placement.shardOf(partition) === seat.shard,
        ),
        cipherOf: async ({ streamId }) => {
          const { refusal, key } = await this.calls.ask(METADATA_SHARD, openKey, { streamId });
          return partitionCipher(refusal === 0 ? (key ?? undefined) : refusal, deps.makeCipher);
        },
        ...(deps.machinery === undefined ? {} : { machinery: deps.machinery }),
        events: {
          groupDrained: () => {
            void this.calls.ask(METADATA_SHARD, groupDrained, {});
          },
          historyEnded: () => undefined,
          counted: ({ address, incarnation, stats }) => {
            this.board.publish({ ...address, incarnation }, stats);
          },
        },
        log: logOf("partitions"),
        limits: plan.partitions,
        sessionParking,
      },
    });
    this.plane = new ForwardingPlane({
      mesh: this.mesh,
      placement,
      own: this.partitions,
      metadata: this.view,
      limits: plan.partitions,
      log: logOf("server"),
      pendingMax: plan.pendingMax,
      parking: sessionParking,
    });
    this.server = new PartitionServer(this.mesh, this.partitions, this.view);
    this.metadata = new RemoteMetadata(this.mesh, this.view, plan.pendingMax);
    this.gate = this.openGate();
    const reception = new Reception({
      messageBus: plan.messageBus,
      connections: this.connections,
      handler: this,
      clock,
      ids: { first: 1 + seat.shard, step: seat.shardCount },
    });
    this.sockets =
      ring &&
      new RingSockets({
        ring,
        reception,
        slots: new SocketSlots(plan.slots),
        closeGraceMillis: plan.messageBus.closeGraceMillis,
        evict: (bytes) => this.partitions.evictResident(bytes),
        log: logOf("tcp"),
      });
    this.serveCalls();
  }

  /** From now on it follows metadata and serves the others. */
  start(): void {
    this.mesh.start({
      main: (source, record, importer) => {
        this.take(source, record, importer);
      },
      reply: (source, record, importer) => {
        this.plane.answer(source, record, importer);
      },
    });
    const { heartbeatMillis, segmentCleanerMillis } = this.deps.boot.plan;
    if (heartbeatMillis !== undefined) {
      const silence = new Silence(this.connections, this.leases, this.deps.clock, heartbeatMillis);
      this.every(heartbeatMillis, () => {
        silence.endSilentConnections();
      });
    }
    let cleaning = false;
    this.every(segmentCleanerMillis, () => {
      if (cleaning) return;
      cleaning = true;
      this.partitions
        .clean()
        .catch((error: unknown) => {
          this.deps.logOf("server").error({ err: error, job: "retention" }, "a background job failed");
        })
        .finally(() => {
          cleaning = false;
        });
    });
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
    this.view.close();
    this.mesh.close();
  }

  // Connections.

  frame(...frame: Parameters<ConnectionHandler["frame"]>): void {
    // Whatever a client may have learnt elsewhere is known here before its request is looked at.
    this.mesh.catchUp(METADATA_SHARD);
    this.gate.frame(...frame);
  }

  malformed(connection: Connection, error: Error): void {
    this.gate.malformed(connection, error);
  }

  closed(connection: Connection): void {
    this.gate.closed(connection);
  }

  private openGate(): FrameGate {
    const { view, connections, leases, metadata } = this;
    const { logOf } = this.deps;
    const commands = new CommandTable({
      sessions: new SessionService({
        authority: metadata,
        connections,
        serverVersion: SERVER_VERSION,
        log: logOf("sessions"),
      }),
      metadata,
      partitions: new PartitionCommands(view, this.plane),
      node: new RemoteNode(this.calls),
      log: logOf("server"),
    });
    return new FrameGate({
      connections,
      leases,
      commands,
      isSessionLive: (client, session) => view.isSessionLive(client, session),
      log: logOf("tcp"),
    });
  }

  // Records of other shards.

  private take(source: number, record: RecordReader, importer: Importer): void {
    const kind = record.u8();
    if (this.server.take(kind, source, record, importer) || this.calls.take(kind, source, record, importer)) return;
    if (kind === MainKind.prepare) this.apply(record, importer);
    else if (kind === MainKind.metadataAnswer) this.metadata.answer(record, importer);
    else if (kind === MainKind.connection && this.sockets !== undefined) this.sockets.serve(record.u32());
    else throw new RangeError(`a record of kind ${kind} from shard ${source}`);
  }

  private apply(record: RecordReader, importer: Importer): void {
    const facts = readPrepare(record);
    const body = importer.receive(record).pieces[0] ?? new Uint8Array(0);
    const retryCapacity = this.deps.boot.plan.metadata.clientsTableMax;
    this.view.apply({ ...facts, body, retryCapacity }, ({ effects }) => {
      if (effects.length === 0) return;
      this.board.follow(effects);
      unbindEnded(effects, this.connections, this.leases);
      for (const topic of touchedTopics(effects)) this.partitions.reconcile(topic);
    });
    this.server.applied();
  }

  private serveCalls(): void {
    const { calls, connections, partitions } = this;
    servePartitions(calls, partitions);
    calls.serve(startPartitions, async () => {
      await partitions.start({ removeUnknown: false });
      return {};
    });
    calls.serve(drain, () => {
      for (const timer of this.timers) clearInterval(timer);
      this.gate.drain();
      partitions.drain();
      return {};
    });
    calls.serve(listConnections, () =>
      [...connections.all()].map((connection) => {
        const { binding, ...facts } = factsOf(connection);
        return { ...facts, binding: binding ?? null };
      }),
    );
    calls.serve(heardSessions, () => {
      const now = this.deps.clock.monotonicMillis();
      for (const connection of connections.all()) this.leases.heardOn(connection);
      return this.leases.heard().map(({ client, heardMillis }) => ({
        client,
        silentMillis: Math.max(0, Math.round(now - heardMillis)),
      }));
    });
    calls.serve(requestsInFlight, () => {
      let inFlight = 0;
      for (const connection of connections.all()) inFlight += connection.requestsInFlight;
      return inFlight;
    });
    calls.serve(endConnections, () => {
      for (const connection of connections.all()) connection.end();
      return {};
    });
    calls.serve(closeConnections, async ({ graceMillis }) => {
      const deadline = performance.now() + graceMillis;
      while (connections.size > 0 && performance.now() < deadline) await new Promise((wake) => setTimeout(wake, 5));
      for (const connection of [...connections.all()]) connection.destroy();
      return {};
    });
  }

  private every(periodMillis: number | undefined, job: () => void): void {
    if (periodMillis === undefined) return;
    const timer = setInterval(job, timerMillis(periodMillis));
    timer.unref();
    this.timers.push(timer);
  }
}
