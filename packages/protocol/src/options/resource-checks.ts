import { ErrorCode, IggyError } from "../errors/index.js";
import { optionValueLimits as limits } from "./limits.js";
import { invalidValue, OptionError } from "./option-error.js";

// What admission of single values can not see: values beside each other and beside the cluster. Sizes are bytes.

/** `InvalidOptionValue` (4042) unless the size lies between 1 MiB and `ceiling` in steps of 512. */
export function checkSegmentSize(segmentSize: bigint, ceiling: bigint = limits.maxSegmentSize): void {
  if (segmentSize < limits.minSegmentSize || segmentSize > ceiling || segmentSize % limits.segmentSizeMultiple !== 0n) {
    throw invalidValue(
      "segment_size",
      `takes ${String(limits.minSegmentSize)} to ${String(ceiling)} bytes in steps of ${String(limits.segmentSizeMultiple)}`,
    );
  }
}

/** A finite cap below one segment is `InvalidTopicSize` (1019). */
export function checkTopicSize(maxTopicSize: bigint, segmentSize: bigint): void {
  if (maxTopicSize < segmentSize) {
    throw new IggyError(
      ErrorCode.InvalidTopicSize,
      `max_topic_size of ${String(maxTopicSize)} bytes is below the segment size of ${String(segmentSize)}`,
    );
  }
}

/** A create may reserve up to 64 GiB: `InvalidOptionValue` (4042) of `preallocate_segments` above. */
export function checkPreallocation(segmentSize: bigint, partitionsCount: number): void {
  if (segmentSize * BigInt(partitionsCount) > limits.maxPreallocatedBytes) {
    throw invalidValue("preallocate_segments", `would reserve more than ${String(limits.maxPreallocatedBytes)} bytes`);
  }
}

/** `InvalidReplicationFactor` (2018) when there are not that many nodes. */
export function checkReplicationFactor(factor: number, nodesCount: number): void {
  if (factor < 1 || factor > Math.min(nodesCount, limits.maxReplicationFactor)) {
    throw new OptionError(
      ErrorCode.InvalidReplicationFactor,
      "replication_factor",
      `takes 1 to ${String(Math.min(nodesCount, limits.maxReplicationFactor))} here`,
    );
  }
}
