export type * from "./contracts.js";
export { type DataDirectory, openDataDirectory, STORAGE_FORMAT } from "./data-directory.js";
export {
  DamagedBatch,
  DamagedFile,
  type FenceReason,
  PartitionFenced,
  ReadFailed,
  StorageRefused,
  StoreUnavailable,
  WriteFailed,
} from "./errors.js";
export type { Io, IoFile, IoLock, OpenMode } from "./io/io.js";
export { LibuvIo } from "./io/libuv-io.js";
export { DiskError, type DiskFault, type DiskOperation, MemoryIo, type MemoryIoOptions } from "./io/memory-io.js";
export { partitionDirectory, type PartitionId } from "./layout.js";
export { type OpenedMetadata, openMetadataStore } from "./metadata/open-metadata.js";
export { type OpenedPartition, openPartitionStore } from "./partition/open-partition.js";
export { removePartition, retirePartition, storedPartitions } from "./partition/partition-lifecycle.js";
export type { Checksums } from "./shard/checksums.js";
export { type StoreClock, systemClock } from "./shard/group-commit.js";
export type { ResidentBudget } from "./shard/resident-budget.js";
export { type ReadMemory, StorageShard, type StorageShardOptions } from "./shard/storage-shard.js";
