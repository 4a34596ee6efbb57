import { command } from "../../commands/command.js";
import { Operation } from "../../enums/index.js";
import { pollRouting } from "../records/cluster.js";
import { legacyConsumerTarget } from "../records/polls.js";

/**
 * Asks where to store or delete an offset. Became GetPartitionRoute (105).
 *
 *   request  consumer · stream_id · topic_id · partition_id [flag u8][u32]
 *   reply    poll routing
 */
export const getConsumerOffsetRouting = command({
  code: 123,
  name: "consumer_offset.routing",
  title: "GetConsumerOffsetRouting",
  operation: Operation.NonReplicated,
  request: legacyConsumerTarget,
  response: pollRouting,
});
