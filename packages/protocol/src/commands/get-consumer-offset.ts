import { struct, u32, u64 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";
import { consumerTargetFields } from "./records/targets.js";

/**
 * The stored offset of a consumer: that of the last message that it processed.
 *
 *   request  consumer       consumer
 *            stream_id      identifier
 *            topic_id       identifier
 *            partition_id   [flag u8][u32]; absent = partition 0
 *   reply     0  partition_id   u32
 *             4  current_offset u64, last offset of the partition
 *            12  stored_offset  u64; empty reply = none stored
 */
export const getConsumerOffset = command({
  code: 120,
  name: "consumer_offset.get",
  title: "GetConsumerOffset",
  operation: Operation.NonReplicated,
  request: struct("GetConsumerOffset", consumerTargetFields),
  response: struct("ConsumerOffset", {
    partitionId: u32,
    currentOffset: u64,
    storedOffset: u64,
  }),
  absent: true,
});
export type GetConsumerOffsetRequest = RequestOf<typeof getConsumerOffset>;
export type ConsumerOffset = NonNullable<ResponseOf<typeof getConsumerOffset>>;
