import { Writer } from "@iggy/protocol";
import type { ChangeQueue } from "../changes/change-log.js";
import type { User } from "../state/accounts.js";
import type { ConsumerGroup } from "../state/consumer-group.js";
import type { Stream, Topic } from "../state/resources.js";
import type { Session } from "../state/session.js";
import type { MetadataState } from "../state/state.js";
import {
  type ChangeQueueSnapshot,
  type GroupSnapshot,
  SNAPSHOT_FORMAT,
  type SessionSnapshot,
  snapshotContent,
  type SnapshotContent,
  snapshotFormat,
  type StreamSnapshot,
  type TopicSnapshot,
  type UserSnapshot,
} from "./layout.js";

/** `[format u32][content]`. Equal states give equal bytes. */
export function writeSnapshot(state: MetadataState): Uint8Array {
  const content = contentOf(state);
  const writer = new Writer(new Uint8Array(snapshotFormat.size(SNAPSHOT_FORMAT) + snapshotContent.size(content)));
  snapshotFormat.write(writer, SNAPSHOT_FORMAT);
  snapshotContent.write(writer, content);
  return writer.bytes;
}

const contentOf = (state: MetadataState): SnapshotContent => ({
  appliedOp: state.appliedOp,
  appliedAtMicros: state.appliedAtMicros,
  logId: state.logId ?? null,
  revision: state.revision,
  namespaceRevision: state.namespaceRevision,
  sessionsMax: state.sessionsMax,
  streams: Array.from(state.streams.values(), streamSnapshot),
  users: Array.from(state.users.values(), userSnapshot),
  sessions: Array.from(state.sessions.values(), sessionSnapshot),
  resourceChanges: changeQueueSnapshot(state.changeLog.queues.resource),
  activityChanges: changeQueueSnapshot(state.changeLog.queues.activity),
});

const streamSnapshot = (stream: Stream): StreamSnapshot => ({
  id: stream.id,
  createdOp: stream.createdOp,
  createdAtMicros: stream.createdAtMicros,
  name: stream.name,
  options: stream.options,
  topics: Array.from(stream.topics.values(), topicSnapshot),
});

const topicSnapshot = (topic: Topic): TopicSnapshot => ({
  id: topic.id,
  createdOp: topic.createdOp,
  createdAtMicros: topic.createdAtMicros,
  name: topic.name,
  options: topic.options,
  partitions: topic.partitions,
  nextGroupId: topic.nextGroupId,
  groups: Array.from(topic.groups.values(), groupSnapshot),
});

const groupSnapshot = (group: ConsumerGroup): GroupSnapshot => ({
  id: group.id,
  name: group.name,
  generation: group.generation,
  members: [...group.members.values()],
  pending: group.pending,
  owners: Array.from(group.owners, ([partitionId, owner]) => ({ partitionId, ...owner })).sort(
    (left, right) => left.partitionId - right.partitionId,
  ),
});

const userSnapshot = (user: User): UserSnapshot => ({
  id: user.id,
  createdAtMicros: user.createdAtMicros,
  username: user.username,
  status: user.status,
  passwordHash: user.passwordHash,
  permissions: user.permissions,
  options: user.options,
  tokens: [...user.tokens.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
});

const sessionSnapshot = (session: Session): SessionSnapshot => ({
  clientId: session.clientId,
  epoch: session.epoch,
  userId: session.userId,
  userCreatedAtMicros: session.userCreatedAtMicros,
  verifier: session.verifier,
  watermark: session.watermark,
  receipts: session.receipts.map((receipt) => ({ ...receipt, payload: receipt.payload ?? null })),
  ended: session.ended ?? null,
});

const changeQueueSnapshot = (queue: ChangeQueue): ChangeQueueSnapshot => ({
  evicted: queue.evicted ?? null,
  changes: [...queue],
});
