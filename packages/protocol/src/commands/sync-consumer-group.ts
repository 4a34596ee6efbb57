import { list, struct, u32, u64 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { groupTarget } from "./records/targets.js";

/**
 * The partitions that the calling session may poll now.
 *
 *   request  stream_id  identifier
 *            topic_id   identifier
 *            group_id   identifier
 *   reply    generation u64
 *            partitions [u32 count][u32 × count]; empty reply = not a member
 */
export const syncConsumerGroup = command({
  code: 606,
  name: "consumer_group.sync",
  title: "SyncConsumerGroup",
  operation: Operation.NonReplicated,
  request: groupTarget,
  response: struct("SyncConsumerGroup reply", { generation: u64, partitions: list(u32, u32) }),
  absent: true,
});
export type SyncConsumerGroupRequest = RequestOf<typeof syncConsumerGroup>;
export type SyncConsumerGroupResponse = NonNullable<ResponseOf<typeof syncConsumerGroup>>;
