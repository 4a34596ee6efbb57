import {
  type ChangeOptions,
  encodeChange,
  type EncodedChange,
  MemberLeftReason,
  PermissionsReason,
  SessionClosedReason,
  TokenDeletedReason,
  type StreamKey,
  type TopicKey,
  type UserKey,
} from "@iggy/protocol";
import type { AccessToken, User } from "../state/accounts.js";
import type { ConsumerGroup, Member } from "../state/consumer-group.js";
import type { SessionEndReason } from "../effects.js";
import type { Stream, Topic } from "../state/resources.js";
import type { Session } from "../state/session.js";
import {
  visibleStreamOptions,
  visibleTopicOptions,
  visibleUserOptions,
  type VisibleOptions,
} from "../replies/visible-options.js";

// Changes as the log keeps them: what reads show of the resource at that moment, secrets and internal keys left out.
// Deletes complete with their own operation here, so none refers to an earlier request.

export const streamKey = (stream: Stream): StreamKey => ({
  streamId: stream.id,
  streamCreatedOp: BigInt(stream.createdOp),
});

export const topicKey = (topic: Topic): TopicKey => ({
  stream: streamKey(topic.stream),
  topicId: topic.id,
  topicCreatedOp: BigInt(topic.createdOp),
});

export const userKey = (user: Pick<User, "id" | "createdAtMicros">): UserKey => ({
  userId: user.id,
  userCreatedAt: BigInt(user.createdAtMicros),
});

export const changeOptions = ({ options, derivedOptions }: VisibleOptions): ChangeOptions => ({
  readable: true,
  explicit: options,
  derived: derivedOptions,
});

/** Of a stream whose options this release can't read, mirrors keep what they have. */
export const streamChangeOptions = (stream: Stream): ChangeOptions =>
  stream.encryption.kind === "unreadable" ? { readable: false } : changeOptions(visibleStreamOptions(stream.options));

const streamBody = (stream: Stream) => ({
  key: streamKey(stream),
  createdAt: BigInt(stream.createdAtMicros),
  name: stream.name,
  options: streamChangeOptions(stream),
});

export const streamCreated = (stream: Stream): EncodedChange => encodeChange("stream_created", streamBody(stream));
export const streamUpdated = (stream: Stream): EncodedChange => encodeChange("stream_updated", streamBody(stream));
export const streamDeleted = (stream: Stream): EncodedChange =>
  encodeChange("stream_deleted", {
    key: streamKey(stream),
    createdAt: BigInt(stream.createdAtMicros),
    name: stream.name,
    requestedOp: null,
  });

const topicBody = (topic: Topic) => ({
  key: topicKey(topic),
  createdAt: BigInt(topic.createdAtMicros),
  name: topic.name,
  partitionsCount: topic.partitions.length,
  options: changeOptions(visibleTopicOptions(topic.options)),
});

export const topicCreated = (topic: Topic): EncodedChange => encodeChange("topic_created", topicBody(topic));
export const topicUpdated = (topic: Topic): EncodedChange => encodeChange("topic_updated", topicBody(topic));
export const topicDeleted = (topic: Topic): EncodedChange =>
  encodeChange("topic_deleted", {
    key: topicKey(topic),
    createdAt: BigInt(topic.createdAtMicros),
    name: topic.name,
    requestedOp: null,
  });

export const partitionsChanged = (topic: Topic, removedPartitionIds: readonly number[]): EncodedChange =>
  encodeChange("partitions_changed", {
    topic: topicKey(topic),
    partitionsCount: topic.partitions.length,
    removedPartitionIds,
    requestedOp: null,
  });

const groupBody = (group: ConsumerGroup) => ({
  topic: topicKey(group.topic),
  groupId: group.id,
  name: group.name,
  consumerGroupsCount: group.topic.groups.size,
});

export const groupCreated = (group: ConsumerGroup): EncodedChange =>
  encodeChange("consumer_group_created", groupBody(group));
export const groupDeleted = (group: ConsumerGroup): EncodedChange =>
  encodeChange("consumer_group_deleted", { ...groupBody(group), requestedOp: null });

const memberBody = (group: ConsumerGroup, member: Member) => ({
  topic: topicKey(group.topic),
  groupId: group.id,
  memberId: member.slot,
  clientId: member.clientId,
  membersCount: group.members.size,
});

/** What the new member gets follows as handovers, one by one. */
export const memberJoined = (group: ConsumerGroup, member: Member): EncodedChange =>
  encodeChange("consumer_group_member_joined", { ...memberBody(group, member), partitionIds: [] });
export const memberLeft = (
  group: ConsumerGroup,
  member: Member,
  reason: keyof typeof MemberLeftReason,
): EncodedChange =>
  encodeChange("consumer_group_member_left", { ...memberBody(group, member), reason: MemberLeftReason[reason] });

/** `memberId` null: the last member left. */
export const handedOver = (group: ConsumerGroup, partitionId: number, memberId: number | null): EncodedChange =>
  encodeChange("consumer_group_partition_handed_over", {
    topic: topicKey(group.topic),
    groupId: group.id,
    partitionId,
    memberId,
  });

const userBody = (user: User) => ({
  key: userKey(user),
  username: user.username,
  status: user.status,
  permissions: user.permissions,
  options: changeOptions(visibleUserOptions(user.options)),
});

const userIdentity = (user: User) => ({ key: userKey(user), username: user.username });

export const userCreated = (user: User): EncodedChange => encodeChange("user_created", userBody(user));
export const userUpdated = (user: User): EncodedChange => encodeChange("user_updated", userBody(user));
export const userDeleted = (user: User): EncodedChange => encodeChange("user_deleted", userIdentity(user));
export const passwordChanged = (user: User): EncodedChange => encodeChange("user_password_changed", userIdentity(user));
export const permissionsUpdated = (user: User, reason: keyof typeof PermissionsReason): EncodedChange =>
  encodeChange("user_permissions_updated", {
    ...userIdentity(user),
    permissions: user.permissions,
    reason: PermissionsReason[reason],
  });

export const tokenCreated = (token: AccessToken): EncodedChange =>
  encodeChange("personal_access_token_created", {
    user: userKey(token.user),
    name: token.name,
    expiry: token.expiryMicros,
  });
export const tokenDeleted = (token: AccessToken, reason: keyof typeof TokenDeletedReason): EncodedChange =>
  encodeChange("personal_access_token_deleted", {
    user: userKey(token.user),
    name: token.name,
    reason: TokenDeletedReason[reason],
  });

const sessionBody = (session: Session) => ({
  user: userKey({ id: session.userId, createdAtMicros: session.userCreatedAtMicros }),
  clientId: session.clientId,
  session: BigInt(session.epoch),
});

export const sessionRegistered = (session: Session): EncodedChange =>
  encodeChange("session_registered", sessionBody(session));
export const sessionClosed = (session: Session, reason: SessionEndReason): EncodedChange =>
  encodeChange("session_closed", { ...sessionBody(session), reason: SessionClosedReason[reason] });
