import type { ConsumerGroup, Refusal, Topic } from "@iggy/engine";
import type { Identifier } from "@iggy/protocol";

/** Names to numbers and rights, from committed metadata. */
export interface Directory {
  /** Highest metadata op that this node applied. */
  readonly appliedOp: number;
  /** True now, or once the op is applied within the read budget; false when the budget ran out. */
  whenApplied(op: number): true | Promise<boolean>;
  /** The session is registered and has not ended. A request without one has none that could end. */
  isSessionLive(client: bigint, session: number): boolean;
  resolveTopic(streamId: Identifier, topicId: Identifier): Topic | Refusal;
  resolveGroup(topic: Topic, groupId: Identifier): ConsumerGroup | Refusal;
  mayPoll(userId: number, topic: Topic): boolean;
  maySend(userId: number, topic: Topic): boolean;
}
