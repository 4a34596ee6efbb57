import type { PartitionFacts } from "./machine.js";

const CONFIRMATION_SIZE = 24;

/**
 * Reply of a committed send, the same on every replica:
 *
 *    0 confirmations_count u32 (1)    8 topic_id u32        16 base_offset u64
 *    4 stream_id u32                 12 partition_id u32
 */
export function sendReply({ streamId, topicId, partitionId }: PartitionFacts, baseOffset: number): Uint8Array {
  const bytes = new Uint8Array(CONFIRMATION_SIZE);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 1, true);
  view.setUint32(4, streamId, true);
  view.setUint32(8, topicId, true);
  view.setUint32(12, partitionId, true);
  view.setBigUint64(16, BigInt(baseOffset), true);
  return bytes;
}
