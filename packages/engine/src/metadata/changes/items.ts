import { encodeItem } from "@iggy/protocol";
import type { AccessToken, User } from "../state/accounts.js";
import type { ConsumerGroup, Member } from "../state/consumer-group.js";
import type { Stream, Topic } from "../state/resources.js";
import type { Session } from "../state/session.js";
import { visibleTopicOptions, visibleUserOptions } from "../replies/visible-options.js";
import { changeOptions, streamChangeOptions, streamKey, topicKey, userKey } from "./records.js";

// Things of the current state as a scan shows them.

export const streamItem = (stream: Stream): Uint8Array =>
  encodeItem("streams", {
    key: streamKey(stream),
    createdAt: BigInt(stream.createdAtMicros),
    name: stream.name,
    options: streamChangeOptions(stream),
  }).body;

export const topicItem = (topic: Topic): Uint8Array =>
  encodeItem("topics", {
    key: topicKey(topic),
    createdAt: BigInt(topic.createdAtMicros),
    name: topic.name,
    options: changeOptions(visibleTopicOptions(topic.options)),
  }).body;

export const partitionsItem = (topic: Topic): Uint8Array =>
  encodeItem("partitions", { topic: topicKey(topic), partitionsCount: topic.partitions.length }).body;

export const groupItem = (group: ConsumerGroup): Uint8Array =>
  encodeItem("consumer_groups", { topic: topicKey(group.topic), groupId: group.id, name: group.name }).body;

export const memberItem = (group: ConsumerGroup, member: Member): Uint8Array =>
  encodeItem("consumer_group_members", {
    topic: topicKey(group.topic),
    groupId: group.id,
    memberId: member.slot,
    clientId: member.clientId,
    partitionIds: [...member.partitions].sort((left, right) => left - right),
  }).body;

export const userItem = (user: User): Uint8Array =>
  encodeItem("users", {
    key: userKey(user),
    username: user.username,
    status: user.status,
    permissions: user.permissions,
    options: changeOptions(visibleUserOptions(user.options)),
  }).body;

export const tokenItem = (token: AccessToken): Uint8Array =>
  encodeItem("personal_access_tokens", {
    user: userKey(token.user),
    name: token.name,
    expiry: token.expiryMicros,
  }).body;

export const sessionItem = (session: Session): Uint8Array =>
  encodeItem("sessions", {
    user: userKey({ id: session.userId, createdAtMicros: session.userCreatedAtMicros }),
    clientId: session.clientId,
    session: BigInt(session.epoch),
  }).body;
