import {
  encodeResponse,
  ErrorCode,
  getConsumerGroup,
  getConsumerGroups,
  type Identifier,
  syncConsumerGroup,
} from "@iggy/protocol";
import { decodedRequest } from "../attempt.js";
import { findGroup, findTopic, groupOf } from "../state/lookups.js";
import { refuse, Refusal } from "../refusal.js";
import { groupDetails, groupRecord } from "../replies/records.js";
import type { Topic } from "../state/resources.js";
import { type Read, read, type ReadContext } from "./read.js";

/** An unknown group is none; an unknown stream or topic is an error here. */
export const readGroup = read(getConsumerGroup, (context, request) => {
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  const group = groupOf(topic, request.groupId);
  if (group === undefined) return encodeResponse(getConsumerGroup, null);
  if (!context.mayDo("readTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  return encodeResponse(getConsumerGroup, groupDetails(group));
});

export const readGroups = read(getConsumerGroups, (context, request) => {
  const topic = readableTopic(context, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  return encodeResponse(getConsumerGroups, { groups: [...topic.groups.values()].map(groupRecord) });
});

function readableTopic(context: ReadContext, streamId: Identifier, topicId: Identifier): Topic | Refusal {
  const topic = findTopic(context.state, streamId, topicId);
  if (topic instanceof Refusal) return topic;
  return context.mayDo("readTopic", topic.stream.id, topic.id) ? topic : refuse(ErrorCode.Unauthorized);
}

/** What the caller may poll now. Whoever is not a member gets no assignment, also for a request that means nothing. */
export const readAssignment: Read = (context, payload) => {
  const none = encodeResponse(syncConsumerGroup, null);
  const request = decodedRequest(syncConsumerGroup, payload);
  if (request instanceof Refusal) return none;
  const group = findGroup(context.state, request.streamId, request.topicId, request.groupId);
  const member = group instanceof Refusal ? undefined : group.membersByClient.get(context.clientId);
  if (group instanceof Refusal || member === undefined) return none;
  return encodeResponse(syncConsumerGroup, {
    generation: BigInt(group.generation),
    partitions: group.pollable(member),
  });
};
