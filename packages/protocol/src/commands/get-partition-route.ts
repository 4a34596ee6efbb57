import { exactly, struct, u32, u64, u8 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { identifier } from "../primitives/index.js";
import { command, type RequestOf, type ResponseOf } from "./command.js";

/**
 * Which replica leads a partition.
 *
 *   request  stream_id        identifier
 *            topic_id         identifier
 *            partition_id     u32
 *   reply     0  incarnation      u64, metadata revision that created the partition
 *             8  metadata_op      u64, applied metadata op of the answering node
 *            16  view             u32, view of the partition's group
 *            20  partitions_count u32, of the topic
 *            24  primary_replica  u8, configured replica id; exactly 25 bytes
 */
export const getPartitionRoute = command({
  code: 105,
  name: "partition.route",
  title: "GetPartitionRoute",
  operation: Operation.NonReplicated,
  request: struct("GetPartitionRoute", { streamId: identifier, topicId: identifier, partitionId: u32 }),
  response: exactly(
    struct("PartitionRoute", {
      incarnation: u64,
      metadataOp: u64,
      view: u32,
      partitionsCount: u32,
      primaryReplica: u8,
    }),
  ),
  malformedReplyCode: ErrorCode.InvalidFormat,
});
export type GetPartitionRouteRequest = RequestOf<typeof getPartitionRoute>;
export type PartitionRoute = NonNullable<ResponseOf<typeof getPartitionRoute>>;
