import {
  type Io,
  type OpenedPartition,
  openPartitionStore,
  type PartitionId,
  type PartitionOptions,
  removePartition,
  type ReplicaIdentity,
  storedPartitions,
} from "@iggy/storage";

/** The partitions of one data directory. */
export interface PartitionStorage {
  /** Throws `PartitionFenced` when the partition must not serve. */
  open(options: Omit<PartitionOptions, keyof ReplicaIdentity>): Promise<OpenedPartition>;
  /** Deletes everything of a partition. */
  remove(id: PartitionId): Promise<void>;
  /** Partitions that have a directory. */
  stored(): Promise<readonly PartitionId[]>;
}

export function directoryStorage(io: Io, dataDirectory: string, identity: ReplicaIdentity): PartitionStorage {
  return {
    open: (options) => openPartitionStore(io, dataDirectory, { ...identity, ...options }),
    remove: (id) => removePartition(io, dataDirectory, id),
    stored: () => storedPartitions(io, dataDirectory),
  };
}
