import { Replica } from "@iggy/consensus";
import { CorruptHistoryError, type OffsetChange, PartitionMachine, type PartitionPrepare } from "@iggy/engine";
import { PrepareHeader, storedChecksum, partitionGroup } from "@iggy/protocol";
import type { JournalEntry, OpenedPartition, RecoveredPartition } from "@iggy/storage";
import type { PartitionDescription, PartitionLog, TopicPolicy } from "../environment.js";
import { PartitionGroup } from "../group.js";
import { machineKinds, storedKinds } from "../offset-kinds.js";
import type { PartitionCipher } from "../partition-cipher.js";
import type { PartitionStorage } from "./partition-storage.js";
import { partitionSealer } from "../../prepare-sealer.js";
import type { PartitionShard } from "../shard.js";

/**
 * Opens a partition on this node and brings its state machine to where its log ends. Throws `PartitionFenced` when the
 * files must not be served, `CorruptHistoryError` when the log contradicts itself.
 */
export async function openGroup(
  shard: PartitionShard,
  storage: PartitionStorage,
  description: PartitionDescription,
  policy: TopicPolicy,
  log: PartitionLog,
): Promise<PartitionGroup> {
  const { limits } = shard.environment;
  const { address, incarnation } = description;
  const isDurable = policy.persistMessages || policy.persistOffsets;
  const cipher = await shard.environment.cipherOf(address);
  // The store reports to the group, which only exists once the store is recovered; nothing is reported before.
  let group: PartitionGroup | undefined;
  const opened = await storage.open({
    ...address,
    incarnation,
    createdView: description.createdView,
    retryCapacity: limits.dedupClientsMax,
    segmentSizeBytes: policy.segmentSizeBytes,
    preallocate: policy.preallocateSegments,
    persisted: isDurable,
    validateChecksums: limits.validateChecksum,
    journalBytesMax: limits.walBytesMax,
    shard: shard.storage,
    offsetReservationLease: limits.offsetReservationLease,
    onJournaled: (op) => group?.journaled(op),
    onRejected: (fromOp, error) => group?.rejected(fromOp, error),
    onFailed: (error) => group?.fail(error),
    onWarning: (message) => {
      log.warn({}, message);
    },
  });
  try {
    group = await recover(shard, opened, description, isDurable, cipher, log);
  } catch (error) {
    await opened.store.close();
    throw error;
  }
  return group;
}

async function recover(
  shard: PartitionShard,
  { store, recovered }: OpenedPartition,
  description: PartitionDescription,
  isDurable: boolean,
  cipher: PartitionCipher | undefined,
  log: PartitionLog,
): Promise<PartitionGroup> {
  const { limits, cluster, replica: node } = shard.environment;
  const { address, incarnation, members } = description;
  const machine = new PartitionMachine(
    { ...address, incarnation },
    { retryCapacity: limits.dedupClientsMax, consumerOffsetsMax: limits.consumerOffsetsMax },
  );
  // What only the journal knows is not in the files yet, which a checkpoint brings up to date before it drops the journal.
  for (const { kind, id, offset } of replay(machine, recovered)) {
    if (offset === undefined) await store.deleteOffset(storedKinds[kind], id, false);
    else await store.storeOffset(storedKinds[kind], id, offset, false);
  }
  const { frontier, checkpoint } = recovered;
  const checkpointOp = checkpoint?.op ?? 0;
  const replica = new Replica(
    {
      group: BigInt(partitionGroup(address)),
      cluster,
      replica: node,
      members,
      pipelineDepth: limits.prepareQueueDepth,
      retryCapacity: limits.dedupClientsMax,
    },
    {
      view: Math.max(frontier.view, description.createdView),
      logView: frontier.logView,
      op: machine.appliedOp,
      headChecksum: machine.checksum,
      commit: machine.appliedOp,
      timestampMicros: recovered.lastTimestampMicros,
    },
    partitionSealer,
  );
  store.commit(machine.appliedOp);
  return new PartitionGroup({ address, machine, replica, store, shard, log, isDurable, cipher, checkpointOp });
}

/**
 * Checkpoint, then offset files, then the log behind the checkpoint: each knows what came after the one before. Returns
 * the offsets that the log changed.
 */
function replay(machine: PartitionMachine, recovered: RecoveredPartition): OffsetChange[] {
  const { checkpoint, offsets, entries } = recovered;
  if (checkpoint !== undefined) {
    machine.restore(checkpoint.state);
    if (machine.appliedOp !== checkpoint.op) {
      throw new CorruptHistoryError(`the checkpoint at operation ${checkpoint.op} holds state of ${machine.appliedOp}`);
    }
  }
  for (const { kind, id, offset } of offsets) machine.offsets.set({ kind: machineKinds[kind], id }, offset);
  const changes = entries.flatMap(({ entry }) => machine.commit(prepareOf(entry)).offsetChanges);
  machine.reserveOffsetsBelow(recovered.nextOffset);
  return changes;
}

function prepareOf({ header, body }: JournalEntry): PartitionPrepare {
  const view = new PrepareHeader().at(header);
  return {
    op: view.op,
    view: view.view,
    timestampMicros: view.timestamp,
    checksum: storedChecksum(header),
    operation: view.operation,
    client: view.client,
    session: view.session,
    request: view.request,
    requestChecksum: view.requestChecksum,
    body,
    retryCapacity: view.retryCapacity,
  };
}
