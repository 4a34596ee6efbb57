import { list, struct, u32, u64, u8, type ValueOf } from "../../codec/index.js";
import { limits } from "../../enums/index.js";
import { partitionContext } from "../../primitives/index.js";

const nodeIds = list(u8, u8, { max: limits.replicasPerCluster });

/**
 * A partition of a topic. `currentOffset` is 0 when it is empty; the owner generation of its context always is.
 * `inSyncMembers` lists the members that the primary last reported in sync and that are up.
 *
 *    0  id              u32
 *    4  created_at      u64
 *   12  segments_count  u32
 *   16  current_offset  u64
 *   24  size_bytes      u64
 *   32  messages_count  u64
 *   40  context         24 bytes
 *   64  members         [u8 count][node id u8 × count]
 *    …  in_sync_members [u8 count][node id u8 × count]
 */
export const partition = struct("partition", {
  id: u32,
  createdAt: u64,
  segmentsCount: u32,
  currentOffset: u64,
  sizeBytes: u64,
  messagesCount: u64,
  context: partitionContext,
  members: nodeIds,
  inSyncMembers: nodeIds,
});
export type Partition = ValueOf<typeof partition>;
