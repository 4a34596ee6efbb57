import { Refusal, type Topic } from "@iggy/engine";
import { ErrorCode, type Identifier, IggyError, type PartitionContext } from "@iggy/protocol";
import type { Directory } from "../../dispatch/directory.js";
import type { PartitionAddress } from "../../partitions/index.js";
import type { Fences } from "../commands/index.js";
import { object, type ShapeValue } from "../json/index.js";
import { identifierText } from "../route/index.js";

export const TOPIC_PATH = "/streams/{stream_id}/topics/{topic_id}";
export const topicParams = object({ stream_id: identifierText, topic_id: identifierText });
export type TopicParams = ShapeValue<typeof topicParams>;

export type TopicDirectory = Pick<Directory, "resolveTopic" | "maySend">;

/** Both ids as commands name them. */
export const targetOf = (params: TopicParams): { readonly streamId: Identifier; readonly topicId: Identifier } => ({
  streamId: params.stream_id,
  topicId: params.topic_id,
});

export function findTopic(directory: TopicDirectory, params: TopicParams): Topic {
  const topic = directory.resolveTopic(params.stream_id, params.topic_id);
  if (topic instanceof Refusal) throw new IggyError(topic.code);
  return topic;
}

export const addressIn = (topic: Topic, partitionId: number): PartitionAddress => ({
  streamId: topic.stream.id,
  topicId: topic.id,
  partitionId,
});

/** The context that the caller sent, or the one of this moment. A partition that does not exist is 3007. */
export function fencesOf(topic: Topic, partitionId: number, context: PartitionContext | null): Fences {
  const partition = topic.partitions[partitionId];
  if (partition === undefined) throw new IggyError(ErrorCode.PartitionNotFound);
  if (context === null) return { partitionIncarnation: partition.incarnation };
  // Above 2^53 numbers are rounded, and equal no number that is in use.
  return {
    partitionIncarnation: Number(context.incarnation),
    ownerGeneration: Number(context.ownerGeneration),
    minimumMetadataOp: Number(context.metadataOp),
  };
}
