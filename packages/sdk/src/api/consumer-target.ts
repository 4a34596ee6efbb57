import { type Consumer as WireConsumer, ErrorCode } from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { type PartitionName, spellingOf } from "../routing/spelling.js";
import { u32 } from "../values/check.js";
import { type Consumer, toConsumer } from "../values/consumer.js";
import type { Id } from "../values/id.js";
import { topicTarget } from "./topics.js";

/** A consumer and the partition that it reads. */
export interface ConsumerTarget {
  readonly streamId: Id;
  readonly topicId: Id;
  readonly consumer: Consumer;
}

export interface PartitionTarget extends ConsumerTarget {
  readonly partitionId: number;
}

export function partitionOf(target: PartitionTarget): PartitionName {
  const partitionId: unknown = target.partitionId;
  if (partitionId === null || partitionId === undefined) {
    throw new ValidationError(ErrorCode.InvalidIdentifier, "partitionId is required");
  }
  return { ...topicTarget(target.streamId, target.topicId), partitionId: u32("partitionId", partitionId) };
}

/** The fields that offset calls and polls share. */
export const consumerFields = (target: PartitionTarget) => ({
  consumer: toConsumer(target.consumer),
  ...partitionOf(target),
});

/** Names a consumer whose calls on a partition take turns. */
export const consumerKey = (consumer: WireConsumer): string => `${consumer.kind}/${spellingOf(consumer.id)}`;

export const aboutPartition = ({ streamId, topicId, partitionId, consumer }: PartitionTarget) => ({
  streamId,
  topicId,
  partitionId,
  consumer: `${consumer.kind} ${typeof consumer.id === "string" ? JSON.stringify(consumer.id) : String(consumer.id)}`,
});
