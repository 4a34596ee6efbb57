import type { Identifier } from "@iggy/protocol";

/** A topic found by name or number. */
export interface FoundTopic {
  readonly streamId: number;
  readonly topicId: number;
  readonly partitionsCount: number;
}

/** Either what was looked for, or the error code that says what is missing. */
export type Found<T> = { readonly value: T; readonly code: 0 } | { readonly value: undefined; readonly code: number };

/** Names to numbers and rights, from committed metadata. */
export interface Directory {
  /** Highest metadata op that this node applied. */
  readonly appliedOp: number;
  /** True now, or once the op is applied within the read budget; false when the budget ran out. */
  whenApplied(op: number): true | Promise<boolean>;
  topic(stream: Identifier, topic: Identifier): Found<FoundTopic>;
  hasPartition(topic: FoundTopic, partitionId: number): boolean;
  group(topic: FoundTopic, group: Identifier): Found<number>;
  mayPoll(userId: number, topic: FoundTopic): boolean;
  maySend(userId: number, topic: FoundTopic): boolean;
}
