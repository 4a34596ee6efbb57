import { ErrorCode, IggyError } from "../errors/index.js";
import { xxh32 } from "../hash/index.js";

/**
 * Partition of a message key among `count` partitions: XXH32 with seed 0, modulo the count. Every client and the server
 * agree on it. `TopicIdNotFound` (2010) for a topic without partitions.
 */
export function partitionForKey(key: Uint8Array, count: number): number {
  if (count <= 0) throw new IggyError(ErrorCode.TopicIdNotFound, "the topic has no partitions");
  return xxh32(key) % count;
}
