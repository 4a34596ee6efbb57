import { empty, struct, u64 } from "../codec/index.js";
import { Operation } from "../enums/index.js";
import { ackLevel } from "../primitives/index.js";
import { command, type RequestOf } from "./command.js";
import { consumerTargetFields } from "./records/targets.js";

/**
 * Stores the offset of the last processed message.
 *
 *   request  consumer     consumer
 *            stream_id    identifier
 *            topic_id     identifier
 *            partition_id [flag u8][u32]; a server refuses an absent one (InvalidIdentifier)
 *            offset       u64
 *            ack          u8 (0 no_ack, 1 quorum)
 *   reply    empty
 */
export const storeConsumerOffset = command({
  code: 121,
  name: "consumer_offset.store",
  title: "StoreConsumerOffset",
  operation: Operation.StoreConsumerOffset,
  request: struct("StoreConsumerOffset", { ...consumerTargetFields, offset: u64, ack: ackLevel }),
  response: empty,
});
export type StoreConsumerOffsetRequest = RequestOf<typeof storeConsumerOffset>;
