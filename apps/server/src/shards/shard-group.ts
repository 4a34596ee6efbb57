import type {
  DeletableThrough,
  GroupProgress,
  Handover,
  MetadataEffect,
  MetadataMachine,
  MetadataPrepare,
  PartitionKey,
} from "@iggy/engine";
import { type Empty, partitionGroup } from "@iggy/protocol";
import type { Backend } from "../backend/index.js";
import type { OpenedKey } from "../encryption/index.js";
import { isSessionLive } from "../metadata/live-session.js";
import type { ConnectionFacts } from "../node/connection-facts.js";
import type {
  CountedPartition,
  EndedSession,
  PartitionAddress,
  PartitionPlane,
  PartitionRequests,
  PartitionStats,
  SessionParking,
} from "../partitions/index.js";
import { timerMillis } from "../timer-limit.js";
import type { ShardBoot, ShardPlan } from "./boot.js";
import { type Call, Calls } from "./calls.js";
import { CountersBoard, createBoards } from "./counters-board.js";
import { ForwardingPlane } from "./forwarding-plane.js";
import { Mesh } from "./lanes/mesh.js";
import { createSeats, type LaneCapacities } from "./lanes/seat.js";
import { MetadataServer, type MetadataServerDeps, type OperationDesk } from "./metadata-server.js";
import { PartitionServer } from "./partition-server.js";
import { Placement } from "./placement.js";
import { sessionParkingOf } from "./session-parking.js";
import { ConnectionSeats, type ConnectionSeatsDeps } from "./seating.js";
import { sharedPool } from "./shared-pool.js";
import {
  closeConnections,
  closePartitions,
  deletableThrough,
  drain,
  endConnections,
  groupDrained,
  heardSessions,
  inFlight,
  listConnections,
  nodeRead,
  openKey,
  requestsInFlight,
  retireSessions,
  startPartitions,
} from "./shard-calls.js";
import type { Shards } from "./shards.js";
import { deletableThrough as resolveHere, type PinSelf } from "./sole-shard.js";
import type { ShardThread } from "./threads.js";
import type { NodeAnswer, NodeQuery } from "../node/node-service.js";

/** What the group needs of the shard that it runs in. All of it is there before `start`. */
export interface GroupHost {
  readonly machine: MetadataMachine;
  readonly own: PartitionPlane;
  readonly metadata: OperationDesk;
  /** A group of a partition elsewhere has nothing in flight any more. */
  readonly groupDrained: () => void;
  readonly openKey: (streamId: number) => Promise<OpenedKey>;
  readonly answerNodeRead: (code: number, query: NodeQuery) => NodeAnswer | Promise<NodeAnswer>;
}

export interface ShardGroupDeps {
  readonly plan: ShardPlan;
  readonly count: number;
  readonly capacities: LaneCapacities;
  readonly backend: Pick<Backend, "addon" | "ring">;
  /** Of the shard that calls; undefined when shards are not pinned. */
  readonly pinSelf: PinSelf | undefined;
  /** Whether the others serve connections, too, and whether this one leaves them all to the others. */
  readonly seating: { readonly isSpread: boolean; readonly skipsShardZero: boolean };
  readonly host: () => GroupHost;
  /** Runs the program of another shard. */
  readonly startThread: (boot: ShardBoot) => ShardThread;
  readonly log: MetadataServerDeps["log"] & ConnectionSeatsDeps["log"];
}

/** Several shards, as shard 0 sees them: it orders metadata, and the others follow. */
export class ShardGroup implements Shards {
  readonly count: number;
  readonly sessionParking: SessionParking;
  private readonly deps: ShardGroupDeps;
  private readonly placement: Placement;
  private running: Running | undefined;
  private threads: readonly ShardThread[] = [];
  private unpin: (() => void) | undefined;

  constructor(deps: ShardGroupDeps) {
    this.deps = deps;
    this.count = deps.count;
    this.placement = new Placement(deps.count);
    this.sessionParking = sessionParkingOf(deps.plan);
  }

  get requests(): PartitionRequests {
    return this.parts.plane;
  }

  isOwn(partition: PartitionAddress): boolean {
    return this.placement.shardOf(partition) === 0;
  }

  // What metadata asks of partitions.

  statsOf(partition: PartitionKey): PartitionStats | undefined {
    return this.isOwn(partition) ? this.deps.host().own.stats(partition) : this.running?.board.read(partition);
  }

  /** Asks the owners: what they have delivered until then is known. */
  progressOf(handovers: readonly Handover[]): GroupProgress | Promise<GroupProgress> {
    const { own } = this.deps.host();
    const elsewhere = new Map<number, Handover[]>();
    for (const handover of handovers) {
      const shard = this.placement.shardOf(handover.partition);
      if (shard === 0) continue;
      const known = elsewhere.get(shard);
      if (known === undefined) elsewhere.set(shard, [handover]);
      else known.push(handover);
    }
    const here: GroupProgress = {
      isInFlight: (partition, groupId) => own.isGroupInFlight(partition, groupId),
    };
    if (elsewhere.size === 0) return here;
    return this.gatherProgress(here, elsewhere);
  }

  private async gatherProgress(
    here: GroupProgress,
    elsewhere: ReadonlyMap<number, readonly Handover[]>,
  ): Promise<GroupProgress> {
    const idle = new Set<string>();
    await Promise.all(
      [...elsewhere].map(async ([shard, handovers]) => {
        const groups = handovers.map(({ partition, groupId }) => ({
          address: addressOf(partition),
          groupId,
        }));
        const answers = await this.parts.calls.ask(shard, inFlight, groups);
        handovers.forEach(({ partition, groupId }, at) => {
          if (answers[at] === false) idle.add(progressKey(partition, groupId));
        });
      }),
    );
    // What nobody was asked about may be in flight.
    return {
      isInFlight: (partition, groupId) =>
        this.isOwn(partition) ? here.isInFlight(partition, groupId) : !idle.has(progressKey(partition, groupId)),
    };
  }

  deletableThrough(partition: PartitionKey, segmentsCount: number): DeletableThrough | Promise<DeletableThrough> {
    const shard = this.placement.shardOf(partition);
    if (shard === 0) return resolveHere(this.deps.host().own, partition, segmentsCount);
    const { incarnation } = partition;
    return this.parts.calls
      .ask(shard, deletableThrough, {
        address: addressOf(partition),
        incarnation,
        segmentsCount,
      })
      .then(({ isKnown, throughOffset }) => (isKnown ? (throughOffset ?? undefined) : "unavailable"));
  }

  async retireSessions(sessions: readonly EndedSession[]): Promise<void> {
    await Promise.all([
      this.deps.host().own.retireSessions(sessions),
      this.parts.calls.askAll(retireSessions, sessions),
    ]);
  }

  // What metadata tells.

  committed(prepare: MetadataPrepare, effects: readonly MetadataEffect[]): void {
    this.running?.board.follow(effects);
    this.running?.metadata.committed(prepare);
  }

  get isBehind(): boolean {
    return this.running?.metadata.isBehind ?? false;
  }

  counted({ address, incarnation, stats }: CountedPartition): void {
    this.running?.board.publish({ ...address, incarnation }, stats);
  }

  // Connections.

  get seat(): Shards["seat"] {
    if (!this.deps.seating.isSpread) return undefined;
    const { seats } = this.parts;
    return (descriptor) => seats.seat(descriptor);
  }

  async connections(): Promise<readonly ConnectionFacts[]> {
    const lists = await this.parts.calls.askAll(listConnections, {});
    return lists.flat().map(({ binding, ...facts }) => ({
      ...facts,
      binding: binding ?? undefined,
    }));
  }

  async heardSessions(): Promise<readonly { readonly client: bigint; readonly silentMillis: number }[]> {
    return (await this.parts.calls.askAll(heardSessions, {})).flat();
  }

  // From start to stop.

  async start(): Promise<void> {
    const { count, capacities, plan, backend, host, startThread, log, seating } = this.deps;
    const { addon, ring } = backend;
    const { machine, own, metadata, groupDrained: drained, answerNodeRead, openKey: open } = host();
    const seats = createSeats(count, capacities);
    const [seat, ...others] = seats;
    if (seat === undefined) throw new RangeError("a node has at least one shard");
    const boards = createBoards(count);
    const mesh = new Mesh(seat, { addon, pool: ring && sharedPool(ring) });
    const calls = new Calls(mesh);
    this.running = {
      mesh,
      calls,
      seats: new ConnectionSeats({ mesh, skipsOwn: seating.skipsShardZero, log }),
      board: new CountersBoard(0, this.placement, boards, machine.partitions()),
      plane: new ForwardingPlane({
        mesh,
        placement: this.placement,
        own,
        metadata: machine,
        limits: plan.partitions,
        log,
        pendingMax: plan.pendingMax,
        parking: this.sessionParking,
      }),
      metadata: new MetadataServer({ mesh, desk: metadata, log }),
      partitions: new PartitionServer(mesh, own, {
        get appliedOp() {
          return machine.appliedOp;
        },
        isSessionLive: (client, session) => isSessionLive(machine, client, session),
      }),
    };
    const parts = this.running;
    calls.serve(groupDrained, () => {
      drained();
      return {};
    });
    calls.serve(openKey, async ({ streamId }) => {
      const key = await open(streamId);
      return typeof key === "number" ? { refusal: key, key: null } : { refusal: 0, key: key ?? null };
    });
    calls.serve(nodeRead, async ({ code, body, userId, connection }) => {
      const { binding, ...facts } = connection;
      const answer = await answerNodeRead(code, {
        body,
        userId,
        connection: { ...facts, binding: binding ?? undefined },
      });
      return "payload" in answer ? { status: 0, payload: answer.payload } : { ...answer, payload: new Uint8Array(0) };
    });
    const snapshot = machine.snapshot();
    this.threads = others.map((other) => startThread({ plan, seat: other, boards, snapshot }));
    for (const { shard, ended } of this.threads) {
      void ended.then((why) => {
        parts.seats.remove(shard);
        calls.ended(shard, why);
      });
    }
    mesh.start({
      main: (source, record, importer) => {
        const kind = record.u8();
        const isTaken =
          parts.partitions.take(kind, source, record, importer) ||
          calls.take(kind, source, record, importer) ||
          parts.metadata.take(kind, source, record, importer);
        if (!isTaken) throw new RangeError(`a record of kind ${kind} from shard ${source}`);
      },
      reply: (source, record, importer) => {
        parts.plane.answer(source, record, importer);
      },
    });
    await Promise.all(this.threads.map(({ ready }) => ready));
  }

  async startPartitions(): Promise<void> {
    await this.parts.calls.askAll(startPartitions, {});
  }

  async pin(): Promise<void> {
    this.unpin = await this.deps.pinSelf?.();
  }

  drain(): void {
    this.tell(drain);
  }

  async requestsInFlight(): Promise<number> {
    const counts = await this.parts.calls.askAll(requestsInFlight, {});
    return counts.reduce((sum, count) => sum + count, 0);
  }

  endConnections(): void {
    this.tell(endConnections);
  }

  async closePartitions(withinMillis: number): Promise<void> {
    if (this.running === undefined) return;
    const { mesh, calls } = this.running;
    const outcomes = await Promise.allSettled(
      [...mesh.others].map((shard) =>
        within(calls.ask(shard, closePartitions, {}), withinMillis, `shard ${shard} closes its partitions`),
      ),
    );
    const failures = outcomes.flatMap((outcome): unknown[] => (outcome.status === "rejected" ? [outcome.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("; "));
  }

  async closeConnections(graceMillis: number): Promise<void> {
    const closed = this.parts.calls.askAll(closeConnections, { graceMillis }).then(() => undefined);
    await within(closed, 2 * graceMillis + CALL_MILLIS, "the shards close their connections");
  }

  async stop(joinMillis: number): Promise<void> {
    const ended = await Promise.all(this.threads.map((thread) => thread.stop(joinMillis)));
    this.running?.mesh.close();
    this.unpin?.();
    const stuck = this.threads.filter((_, at) => ended[at] === false).map(({ shard }) => shard);
    if (stuck.length > 0) throw new Error(`shards ${stuck.join(", ")} did not end in time and were abandoned`);
  }

  /** Asks every other shard without waiting. A shard that failed says so by itself. */
  private tell(asked: Call<Empty, Empty>): void {
    this.parts.calls.askAll(asked, {}).catch(() => undefined);
  }

  private get parts(): Running {
    if (this.running === undefined) throw new Error("the shards are not started");
    return this.running;
  }
}

interface Running {
  readonly mesh: Mesh;
  readonly calls: Calls;
  readonly seats: ConnectionSeats;
  readonly board: CountersBoard;
  readonly plane: ForwardingPlane;
  readonly metadata: MetadataServer;
  readonly partitions: PartitionServer;
}

/** What a question takes at most on a busy node. */
const CALL_MILLIS = 5_000;

/** Rejects when something is not done in time. */
async function within<T>(pending: Promise<T>, millis: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not within ${millis} ms: ${what}`));
    }, timerMillis(millis));
  });
  try {
    return await Promise.race([pending, late]);
  } finally {
    clearTimeout(timer);
  }
}

const addressOf = ({ streamId, topicId, partitionId }: PartitionAddress): PartitionAddress => ({
  streamId,
  topicId,
  partitionId,
});

const progressKey = (partition: PartitionKey, groupId: number): string => `${partitionGroup(partition)}/${groupId}`;
