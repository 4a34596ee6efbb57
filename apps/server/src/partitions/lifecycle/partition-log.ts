import { describeAddress, type PartitionAddress } from "../address.js";
import type { PartitionLog } from "../environment.js";

/** A log whose lines name the partition. */
export function partitionLog(log: PartitionLog, address: PartitionAddress): PartitionLog {
  const partition = describeAddress(address);
  return {
    info: (fields, message) => log.info({ partition, ...fields }, message),
    warn: (fields, message) => log.warn({ partition, ...fields }, message),
    error: (fields, message) => log.error({ partition, ...fields }, message),
  };
}
