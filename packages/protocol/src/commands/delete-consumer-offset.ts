import { empty, struct } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { ackLevel } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";
import { consumerTargetFields } from "./records/targets.js";

/**
 * Forgets a stored offset.
 *
 *   request  consumer     consumer
 *            stream_id    identifier
 *            topic_id     identifier
 *            partition_id [flag u8][u32]; a server refuses an absent one (InvalidIdentifier)
 *            ack          u8 (0 no_ack, 1 quorum)
 *   reply    empty
 */
export const deleteConsumerOffset = command({
  code: 122,
  name: "consumer_offset.delete",
  title: "DeleteConsumerOffset",
  operation: Operation.DeleteConsumerOffset,
  request: struct("DeleteConsumerOffset", { ...consumerTargetFields, ack: ackLevel }),
  response: empty,
});
export type DeleteConsumerOffsetRequest = RequestOf<typeof deleteConsumerOffset>;
