import type { Identifier } from "@iggy/protocol";

/** Text that two identifiers share only when they are spelled alike: number 7 and name "7" differ. */
export function spellingOf(id: Identifier): string {
  return id.kind === "numeric" ? `#${String(id.value)}` : `${String(id.value.length)}:${id.value}`;
}

/** A topic as its caller spelled it. */
export interface TopicName {
  readonly streamId: Identifier;
  readonly topicId: Identifier;
}

export const topicSpelling = (topic: TopicName): string => `${spellingOf(topic.streamId)}/${spellingOf(topic.topicId)}`;

/** A partition as its caller spelled it. */
export interface PartitionName extends TopicName {
  readonly partitionId: number;
}

export const partitionSpelling = (partition: PartitionName): string =>
  `${topicSpelling(partition)}/${String(partition.partitionId)}`;
