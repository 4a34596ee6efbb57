/** Bounds of option values. Sizes are bytes. */
export const optionValueLimits = {
  minSegmentSize: 1_048_576n,
  maxSegmentSize: 1_073_741_824n,
  segmentSizeMultiple: 512n,
  /** Reserved by a create: segment size times partitions. */
  maxPreallocatedBytes: 68_719_476_736n,
  maxReplicationFactor: 32,
  maxMessagesRequiredToSave: 16_777_216,
  maxSizeOfMessagesRequiredToSave: 1_073_741_824n,
  maxResetKeys: 255,
  /** Partitions that SDKs ask for when the caller gives none. */
  defaultPartitionsCount: 1,
} as const;
