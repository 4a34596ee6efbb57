import { ParkingSlots } from "@iggy/engine";
import { stampBatch, verifyBatch } from "@iggy/protocol";
import { StorageShard } from "@iggy/storage";
import { TaskSlots } from "../task-slots.js";
import { DiskReadRoom } from "./disk-room.js";
import type { BatchHashing, PartitionEnvironment } from "./environment.js";
import { Waits } from "./waits.js";

/** What the partitions of one shard share: the environment, and the room that they take from each other. */
export class PartitionShard {
  readonly environment: PartitionEnvironment;
  readonly waits: Waits;
  /** Reads that wait for messages. */
  readonly parking: ParkingSlots;
  readonly diskReads: DiskReadRoom;
  /** Opening, checkpoints, deletions. */
  readonly fileTasks: TaskSlots;
  /** What the stores of the partitions share. */
  readonly storage: StorageShard;
  readonly hashing: BatchHashing;
  /** The node is stopping: nothing new is taken and nothing waits. */
  isDraining = false;

  constructor(environment: PartitionEnvironment) {
    const { clock, timers, limits, machinery, sessionParking } = environment;
    const sessionMax = sessionParking === undefined ? limits.deferredPollMaxPendingPerSession : Infinity;
    this.environment = environment;
    this.waits = new Waits(clock, timers);
    this.parking = new ParkingSlots(limits.deferredPollMaxPending, sessionMax);
    this.diskReads = new DiskReadRoom(limits.pollCompletionCapacity, limits.deferredPollMaxInflightBytes);
    this.fileTasks = new TaskSlots(limits.partitionIoCapacity);
    this.storage = new StorageShard({
      residentBytesMax: limits.residentBytesMax,
      groupCommitDelayMicros: limits.walGroupCommitDelayMicros,
      readMemory: machinery?.readMemory,
      checksums: machinery?.checksums,
    });
    this.hashing = machinery?.hashing ?? { verifyBatch, stampBatch };
  }
}
