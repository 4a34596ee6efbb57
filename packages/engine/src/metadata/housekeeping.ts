import {
  completeConsumerGroupRevocation,
  encode,
  finalizeSession,
  numericId,
  Operation,
  preparedDeletePersonalAccessToken,
  type RewrapStreamKeys,
  rewrapStreamKeys,
} from "@iggy/protocol";
import { isExpired } from "./state/accounts.js";
import { logoutBody } from "./apply/logout-body.js";
import type { ConsumerGroup } from "./state/consumer-group.js";
import type { PartitionKey, SessionEndReason } from "./effects.js";
import type { Session } from "./state/session.js";
import type { MetadataState } from "./state/state.js";

/** An operation that the server itself orders: client and session as given, request 0, user 0. */
export interface ServerOperation {
  readonly operation: number;
  /** 0, or the client whose session it ends. */
  readonly client: bigint;
  readonly session: number;
  readonly body: Uint8Array;
}

/** What a group was served in a partition against what it committed; known to the partition, not to metadata. */
export interface GroupProgress {
  /** Whether something was delivered that is not committed yet. */
  isInFlight(partition: PartitionKey, groupId: number): boolean;
}

const byServer = (operation: number, body: Uint8Array): ServerOperation => ({
  operation,
  client: 0n,
  session: 0,
  body,
});

/** A partition that one member of a group has to give to another. */
export interface Handover {
  readonly partition: PartitionKey;
  readonly groupId: number;
}

/** Handovers that are not complete. */
export function* handovers(state: MetadataState): IterableIterator<Handover> {
  for (const group of state.groupsInHandover) {
    for (const { partitionId } of group.pending) {
      const partition = group.topic.partitions[partitionId];
      if (partition !== undefined) yield { partition, groupId: group.id };
    }
  }
}

/**
 * Handovers that may complete: the source has committed what it was served, or has had its time. Repeating one that is
 * already ordered changes nothing.
 */
export function dueRevocations(
  state: MetadataState,
  progress: GroupProgress,
  nowMicros: number,
  timeoutMicros: number,
  max: number,
): ServerOperation[] {
  const due: ServerOperation[] = [];
  for (const group of state.groupsInHandover) {
    for (const move of group.pending) {
      if (due.length === max) return due;
      const partition = group.topic.partitions[move.partitionId];
      const source = group.members.get(move.sourceSlot);
      if (partition === undefined || source === undefined) continue;
      const isOverdue = nowMicros - move.createdAtMicros >= timeoutMicros;
      if (!isOverdue && progress.isInFlight(partition, group.id)) continue;
      due.push(completion(group, partition, source.clientId));
    }
  }
  return due;
}

const completion = (group: ConsumerGroup, partition: PartitionKey, sourceClientId: bigint): ServerOperation =>
  byServer(
    Operation.CompleteConsumerGroupRevocation,
    encode(completeConsumerGroupRevocation, {
      streamId: numericId(partition.streamId),
      topicId: numericId(partition.topicId),
      groupId: BigInt(group.id),
      sourceClientId,
      partitionId: partition.partitionId,
    }),
  );

/** Replaces the wrap sets of streams that still have the named keys when it is applied. */
export const streamKeyRewrap = (entries: RewrapStreamKeys["entries"]): ServerOperation =>
  byServer(Operation.RewrapStreamKeys, encode(rewrapStreamKeys, { entries }));

/** Deletes of expired tokens. Each looks at the expiry again when it is applied. */
export function expiredTokens(state: MetadataState, nowMicros: number, max: number): ServerOperation[] {
  const due: ServerOperation[] = [];
  for (const token of state.tokensByHash.values()) {
    if (due.length === max) break;
    if (!isExpired(token, nowMicros)) continue;
    const body = encode(preparedDeletePersonalAccessToken, {
      userId: token.user.id,
      name: token.name,
      onlyIfExpired: true,
    });
    due.push(byServer(Operation.DeletePersonalAccessToken, body));
  }
  return due;
}

/** Ends a session on behalf of the server, as when its lease ran out. */
export const sessionEnd = (session: Session, reason: SessionEndReason): ServerOperation => ({
  operation: Operation.Logout,
  client: session.clientId,
  session: session.epoch,
  body: encode(logoutBody, reason),
});

/**
 * Frees the slots of ended sessions that every partition has retired. A node that holds the only copy of everything may
 * call a session retired as soon as its partitions have taken note of the end: they refuse requests of sessions that are
 * not live, and drop at start what belongs to sessions that metadata does not know.
 */
export function finalizations(
  state: MetadataState,
  isRetired: (session: Session) => boolean,
  max: number,
): ServerOperation[] {
  const due: ServerOperation[] = [];
  for (const session of state.sessions.values()) {
    if (due.length === max) break;
    if (session.isLive || !isRetired(session)) continue;
    const body = encode(finalizeSession, {
      identity: {
        clientId: session.clientId,
        session: BigInt(session.epoch),
        metadataWatermark: BigInt(state.appliedOp),
      },
      namespaceRevision: BigInt(state.namespaceRevision),
      debt: [],
    });
    due.push(byServer(Operation.FinalizeSession, body));
  }
  return due;
}
