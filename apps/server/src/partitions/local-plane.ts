import { type OffsetKey, resolveSegmentCount } from "@iggy/engine";
import { encodeResponse, ErrorCode, getConsumerOffset } from "@iggy/protocol";
import type { Io, ReplicaIdentity } from "@iggy/storage";
import type { ClientRequest } from "../request.js";
import { describeAddress, type PartitionAddress } from "./address.js";
import { Cleaner } from "./lifecycle/cleaner.js";
import type {
  DeleteOffsetCommand,
  FetchCommand,
  FetchTarget,
  GetOffsetCommand,
  PollCommand,
  SendCommand,
  StoreOffsetCommand,
} from "./commands.js";
import type { PartitionEnvironment } from "./environment.js";
import type { PartitionGroup } from "./group.js";
import type { LocalPartition } from "./lifecycle/local-partition.js";
import { directoryStorage, type PartitionStorage } from "./lifecycle/partition-storage.js";
import { PartitionTable, type TopicChange } from "./lifecycle/partition-table.js";
import type {
  EndedSession,
  PartitionPlane,
  PartitionRouteFact,
  PartitionStats,
  PartitionTotals,
  SegmentResolution,
} from "./plane.js";
import { Fetch } from "./reads/fetch.js";
import { Poll } from "./reads/poll.js";
import { Reconciler } from "./lifecycle/reconciler.js";
import { SessionRetirements } from "./lifecycle/session-retirements.js";
import { PartitionShard } from "./shard.js";

export interface PartitionPlaneOptions {
  readonly io: Io;
  readonly dataDirectory: string;
  readonly identity: ReplicaIdentity;
  readonly environment: PartitionEnvironment;
}

/** The partitions of this node, in this thread. `start` or `reconcile` opens them. */
export function openPartitionPlane({
  io,
  dataDirectory,
  identity,
  environment,
}: PartitionPlaneOptions): PartitionPlane {
  return new LocalPlane(new PartitionShard(environment), directoryStorage(io, dataDirectory, identity));
}

class LocalPlane implements PartitionPlane {
  private readonly shard: PartitionShard;
  private readonly table = new PartitionTable();
  private readonly reconciler: Reconciler;
  private readonly retirements: SessionRetirements;
  private readonly cleaner: Cleaner;
  private cleaning: Promise<void> = Promise.resolve();

  constructor(shard: PartitionShard, storage: PartitionStorage) {
    this.shard = shard;
    this.retirements = new SessionRetirements(shard, this.table);
    this.reconciler = new Reconciler(shard, storage, this.table, this.retirements);
    this.cleaner = new Cleaner(shard, this.table);
  }

  // Requests.

  send(request: ClientRequest, command: SendCommand): void {
    this.withGroup(request, command.address, (group) => {
      group.send(request, command);
    });
  }

  poll(request: ClientRequest, command: PollCommand): void {
    if (command.consumer.kind === "external_group") {
      request.deny(ErrorCode.FeatureUnavailable);
      return;
    }
    this.withGroup(request, command.address, (group) => {
      new Poll(group, this.shard, request, command).start();
    });
  }

  fetch(request: ClientRequest, command: FetchCommand): void {
    if (command.consumer.kind === "external_group") {
      request.deny(ErrorCode.FeatureUnavailable);
      return;
    }
    const fetch = new Fetch(this.shard, request, command);
    const start = (): void => {
      const opening = this.findOpening(command);
      const isWaiting =
        opening?.early.addTask(request.body.length, start, () => {
          fetch.start((target) => this.targetGroup(command, target));
        }) ?? false;
      if (!isWaiting) fetch.start((target) => this.targetGroup(command, target));
    };
    start();
  }

  getOffset(request: ClientRequest, { address, consumer }: GetOffsetCommand): void {
    // Reading an offset needs no history: a client may ask before it knows one.
    const incarnation = request.partitionIncarnation || this.shard.environment.catalog.partition(address)?.incarnation;
    this.withGroup(
      request,
      address,
      (group) => {
        const code = group.fence(group.incarnation);
        if (code === 0) request.ok(offsetReply(group, consumer));
        else request.deny(code);
      },
      incarnation,
    );
  }

  storeOffset(request: ClientRequest, command: StoreOffsetCommand): void {
    this.withGroup(request, command.address, (group) => {
      group.storeOffset(request, command);
    });
  }

  deleteOffset(request: ClientRequest, command: DeleteOffsetCommand): void {
    this.withGroup(request, command.address, (group) => {
      group.deleteOffset(request, command);
    });
  }

  /** Serves with the partition of the incarnation that the request names, once it is open. */
  private withGroup(
    request: ClientRequest,
    address: PartitionAddress,
    serve: (group: PartitionGroup) => void,
    incarnation = request.partitionIncarnation,
  ): void {
    const found = this.find(address, incarnation);
    if (typeof found === "number") {
      request.deny(found);
      return;
    }
    if (found.group !== undefined) {
      serve(found.group);
      return;
    }
    found.early.add(request, () => {
      const { catalog } = this.shard.environment;
      if (!catalog.isSessionLive(request.client, request.session)) request.deny(ErrorCode.StaleClient);
      else if (found.group !== undefined) serve(found.group);
    });
  }

  /** The partition, open or about to be, or the code that refuses. */
  private find(address: PartitionAddress, incarnation: number): LocalPartition | number {
    const { catalog } = this.shard.environment;
    const local = this.table.get(address);
    if (local?.incarnation !== incarnation || local.state.kind === "fenced") {
      const description = catalog.partition(address);
      if (description === undefined) return ErrorCode.PartitionNotFound;
      if (description.incarnation !== incarnation || local?.state.kind === "fenced")
        return ErrorCode.HistoryUnavailable;
      // Metadata has it; its turn here comes when its predecessor is gone. Other nodes may hold it.
      const { replica } = this.shard.environment;
      return description.members.includes(replica) ? ErrorCode.TransientNotAccepted : ErrorCode.NotPrimary;
    }
    if (this.shard.isDraining) return ErrorCode.TransientNotAccepted;
    return local;
  }

  private targetGroup(command: FetchCommand, target: FetchTarget): PartitionGroup | number {
    const address = { streamId: command.streamId, topicId: command.topicId, partitionId: target.partitionId };
    const found = this.find(address, target.incarnation);
    if (typeof found === "number") return found;
    return found.group ?? ErrorCode.TransientNotAccepted;
  }

  /** A partition of the fetch that is still being opened. */
  private findOpening({ streamId, topicId, targets }: FetchCommand): LocalPartition | undefined {
    for (const { partitionId, incarnation } of targets) {
      const found = this.find({ streamId, topicId, partitionId }, incarnation);
      if (typeof found !== "number" && found.state.kind === "opening") return found;
    }
    return undefined;
  }

  // Facts.

  route(address: PartitionAddress): PartitionRouteFact | undefined {
    const local = this.table.get(address);
    if (local?.group !== undefined) {
      const { view, primary } = local.group.replica;
      return { incarnation: local.incarnation, view, primaryReplica: primary };
    }
    // Not here or not yet open: the committed assignment, from which the group starts.
    const description = this.shard.environment.catalog.partition(address);
    if (description === undefined) return undefined;
    const { incarnation, createdView, members } = description;
    const primaryReplica = members[createdView % members.length];
    return primaryReplica === undefined ? undefined : { incarnation, view: createdView, primaryReplica };
  }

  stats(address: PartitionAddress): PartitionStats | undefined {
    return this.table.get(address)?.group?.stats;
  }

  totals(scope?: { readonly streamId: number; readonly topicId?: number }): PartitionTotals {
    let [partitionsCount, messagesCount, sizeBytes, segmentsCount] = [0, 0, 0, 0];
    for (const { group } of this.table.in(scope)) {
      partitionsCount++;
      if (group === undefined) continue;
      const { counters } = group.store;
      messagesCount += counters.messagesCount;
      sizeBytes += counters.sizeBytes;
      segmentsCount += counters.segmentsCount;
    }
    return { partitionsCount, messagesCount, sizeBytes, segmentsCount };
  }

  isGroupInFlight(address: PartitionAddress, groupId: number): boolean {
    const machine = this.table.get(address)?.group?.machine;
    if (machine === undefined) return false;
    return machine.owners.isInFlight(groupId, machine.offsets.visible({ kind: "consumer_group", id: groupId }));
  }

  resolveSegments(address: PartitionAddress, incarnation: number, count: number): SegmentResolution {
    const refused = (code: number): SegmentResolution => ({ kind: "refused", code });
    if (count === 0) return refused(ErrorCode.InvalidSegmentsCount);
    const found = this.find(address, incarnation);
    if (typeof found === "number") {
      return refused(found === ErrorCode.HistoryUnavailable ? ErrorCode.PartitionHistoryChanged : found);
    }
    if (found.group === undefined) return refused(ErrorCode.TransientNotAccepted);
    const { machine, store } = found.group;
    const code = found.group.fence(incarnation);
    if (code !== 0) return refused(code);
    const throughOffset = resolveSegmentCount(store.sealedSegments, count, machine.offsets.lowestHold());
    return { kind: "truncate", throughOffset };
  }

  // What metadata decided, and the work of the node.

  async start({ removeUnknown }: { readonly removeUnknown: boolean }): Promise<void> {
    if (removeUnknown) await this.reconciler.removeUnknown();
    this.reconciler.pass();
    await this.settled();
  }

  reconcile(topic?: TopicChange): void {
    this.reconciler.pass(topic);
  }

  settled(): Promise<void> {
    return this.reconciler.settled();
  }

  retireSessions(sessions: readonly EndedSession[]): Promise<void> {
    return this.retirements.retire(sessions);
  }

  clean(): Promise<void> {
    this.cleaning = this.cleaner.pass();
    return this.cleaning;
  }

  evictResident(bytes: number): number {
    return this.shard.storage.resident.evict(bytes);
  }

  drain(): void {
    this.shard.isDraining = true;
    for (const local of this.table.in()) {
      local.early.refuseAll(ErrorCode.TransientNotAccepted);
      local.group?.drain();
    }
    // What is left would try again what failed before; the directory may have another owner by then.
    this.shard.waits.close();
  }

  async close(): Promise<void> {
    this.drain();
    await this.settled();
    await this.cleaning;
    const failures: unknown[] = [];
    const closing: Promise<void>[] = [];
    for (const { group, address } of this.table.in()) {
      const close = group?.shutDown().catch((error: unknown) => {
        failures.push(new Error(`partition ${describeAddress(address)} was not closed cleanly`, { cause: error }));
      });
      if (close !== undefined) closing.push(close);
    }
    await Promise.all(closing);
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} partitions were not closed cleanly`);
  }
}

function offsetReply(group: PartitionGroup, consumer: OffsetKey): readonly Uint8Array[] {
  const stored = group.machine.offsets.visible(consumer);
  if (stored === undefined) return [];
  const reply = {
    partitionId: group.address.partitionId,
    currentOffset: BigInt(group.machine.currentOffset),
    storedOffset: BigInt(stored),
  };
  return [encodeResponse(getConsumerOffset, reply)];
}
