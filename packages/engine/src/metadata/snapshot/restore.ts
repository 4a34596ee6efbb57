import { decodeExact, ErrorCode, IggyError, Reader } from "@iggy/protocol";
import { User } from "../state/accounts.js";
import type { ChangeQueue } from "../changes/change-log.js";
import type { MetadataConfig } from "../config.js";
import { ConsumerGroup } from "../state/consumer-group.js";
import { ResourceOptions } from "../state/resource-options.js";
import { Partition, Stream, Topic } from "../state/resources.js";
import { Session } from "../state/session.js";
import { MetadataState } from "../state/state.js";
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

/**
 * The state that a snapshot holds. Another format, or bytes that are no snapshot, throw an `IggyError`. A log that is
 * longer than the configured capacity is cut to it.
 */
export function restoreState(bytes: Uint8Array, config: MetadataConfig): MetadataState {
  const reader = new Reader(bytes);
  const format = snapshotFormat.read(reader);
  if (format !== SNAPSHOT_FORMAT) {
    throw new IggyError(
      ErrorCode.CannotDeserializeResource,
      `the metadata snapshot has format ${String(format)}, this release reads ${String(SNAPSHOT_FORMAT)}`,
    );
  }
  const content = decodeExact(snapshotContent, reader.rest());
  try {
    return stateOf(content, config);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new IggyError(ErrorCode.CannotDeserializeResource, "the metadata snapshot contradicts itself", {
      cause: error,
    });
  }
}

function stateOf(content: SnapshotContent, config: MetadataConfig): MetadataState {
  const state = new MetadataState(config);
  state.appliedOp = content.appliedOp;
  state.appliedAtMicros = content.appliedAtMicros;
  state.logId = content.logId ?? undefined;
  state.revision = content.revision;
  state.namespaceRevision = content.namespaceRevision;
  state.sessionsMax = content.sessionsMax;
  for (const stream of content.streams) restoreStream(state, stream);
  for (const user of content.users) restoreUser(state, user);
  for (const session of content.sessions) state.sessions.set(session.clientId, restoreSession(session));
  restoreChanges(state.changeLog.queues.resource, content.resourceChanges);
  restoreChanges(state.changeLog.queues.activity, content.activityChanges);
  return state;
}

function restoreStream(state: MetadataState, snapshot: StreamSnapshot): void {
  const stream = new Stream({ ...snapshot, options: ResourceOptions.of(snapshot.options) });
  state.addStream(stream);
  for (const topic of snapshot.topics) restoreTopic(state, stream, topic);
}

function restoreTopic(state: MetadataState, stream: Stream, snapshot: TopicSnapshot): void {
  const topic = new Topic({ ...snapshot, stream, options: ResourceOptions.of(snapshot.options) });
  stream.addTopic(topic);
  topic.nextGroupId = snapshot.nextGroupId;
  snapshot.partitions.forEach((fields, id) => {
    const partition = new Partition({ ...fields, topic, id });
    partition.truncatedBelow = fields.truncatedBelow;
    topic.partitions.push(partition);
  });
  for (const group of snapshot.groups) restoreGroup(state, topic, group);
  state.topicsCount++;
  state.partitionsCount += topic.partitions.length;
}

function restoreGroup(state: MetadataState, topic: Topic, snapshot: GroupSnapshot): void {
  const group = new ConsumerGroup({ ...snapshot, topic });
  for (const member of snapshot.members) {
    group.addMember({ ...member });
    state.addMembership(member.clientId, group);
  }
  group.pending = snapshot.pending;
  for (const { partitionId, ...owner } of snapshot.owners) group.owners.set(partitionId, owner);
  topic.addGroup(group);
  if (group.pending.length > 0) state.groupsInHandover.add(group);
  state.groupsCount++;
}

function restoreUser(state: MetadataState, snapshot: UserSnapshot): void {
  const user = new User({ ...snapshot, options: ResourceOptions.of(snapshot.options) });
  state.addUser(user);
  for (const token of snapshot.tokens) state.addToken({ ...token, user });
}

function restoreSession(snapshot: SessionSnapshot): Session {
  const session = new Session({ ...snapshot, verifier: snapshot.verifier.slice() });
  session.watermark = snapshot.watermark;
  session.receipts = snapshot.receipts.map((receipt) => ({ ...receipt, payload: receipt.payload?.slice() }));
  session.ended = snapshot.ended ?? undefined;
  return session;
}

function restoreChanges(queue: ChangeQueue, snapshot: ChangeQueueSnapshot): void {
  queue.evicted = snapshot.evicted ?? undefined;
  // Copies, so that the snapshot's buffer can go.
  for (const change of snapshot.changes) queue.push({ ...change, body: change.body.slice() });
  queue.evict();
}
