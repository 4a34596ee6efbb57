import {
  createTopic,
  deleteTopic,
  encodeResponse,
  ErrorCode,
  fitsOptionBlock,
  limits,
  createTopicWithAssignments,
  updateTopicResolved,
} from "@iggy/protocol";
import { permissionsUpdated, topicCreated, topicDeleted, topicUpdated } from "../changes/records.js";
import { withoutTopic } from "../state/grants.js";
import { handler, nothing } from "./handler.js";
import { findStream, findTopic } from "../state/lookups.js";
import type { OperationContext } from "./operation-context.js";
import { noStats } from "../replies/partition-stats.js";
import { refuse, Refusal } from "../refusal.js";
import { topicDetails } from "../replies/records.js";
import { ResourceOptions } from "../state/resource-options.js";
import { Topic } from "../state/resources.js";
import { dropGroup } from "./group-changes.js";
import { addPartitions, removePartitions } from "./partition-changes.js";

export const applyCreateTopic = handler(createTopicWithAssignments, (context, body) => {
  const { request, derivedOptions, partitions } = body;
  const stream = findStream(context.state, request.streamId);
  if (stream instanceof Refusal) return stream;
  if (!context.mayDo("createTopic", stream.id)) return refuse(ErrorCode.Unauthorized);
  if (stream.topicsByName.has(request.name)) return refuse(ErrorCode.TopicNameAlreadyExists);
  if (partitions.length > limits.partitionsPerRequest) return refuse(ErrorCode.TooManyPartitions);
  // The ids of a new topic are 0, 1, 2 and so on; a body that skips one was not made by a primary.
  if (partitions.some(({ partitionId }, index) => partitionId !== index)) return refuse(ErrorCode.InvalidCommand);
  const options = ResourceOptions.of({ explicit: request.options, derived: derivedOptions });
  if (!fitsOptionBlock(options.all)) return refuse(ErrorCode.OptionsBlockTooLarge);
  const id = stream.topics.nextId;
  if (id === undefined) return refuse(ErrorCode.TooManyTopics);
  const topic = new Topic({
    stream,
    id,
    createdOp: context.op,
    createdAtMicros: context.nowMicros,
    name: request.name,
    options,
  });
  stream.addTopic(topic);
  context.state.topicsCount++;
  addPartitions(context, topic, partitions);
  context.record(topicCreated(topic));
  return encodeResponse(createTopic, topicDetails(topic, noStats, context.op, context.config.nodes));
});

export const applyDeleteTopic = handler(deleteTopic.request, (context, request) => {
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  if (!context.mayDo("manageTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  context.record(topicDeleted(topic));
  dropTopic(context, topic);
  revokeGrants(context, topic);
  return nothing;
});

export const applyUpdateTopic = handler(updateTopicResolved, (context, request) => {
  const topic = findTopic(context.state, request.streamId, request.topicId);
  if (topic instanceof Refusal) return topic;
  if (!context.mayDo("manageTopic", topic.stream.id, topic.id)) return refuse(ErrorCode.Unauthorized);
  const holder = request.name === null ? undefined : topic.stream.topicsByName.get(request.name);
  if (holder !== undefined && holder !== topic) return refuse(ErrorCode.TopicNameAlreadyExists);
  const options = topic.options.patched({ explicit: request.explicitOptions, derived: request.derivedOptions });
  if (!fitsOptionBlock(options.all)) return refuse(ErrorCode.OptionsBlockTooLarge);
  if (request.name !== null) topic.stream.renameTopic(topic, request.name);
  if (request.explicitOptions.length + request.derivedOptions.length > 0) {
    topic.options = options;
    context.emit({
      kind: "topic-settings-changed",
      streamId: topic.stream.id,
      topicId: topic.id,
      settings: topic.settings,
    });
  }
  context.record(topicUpdated(topic));
  return nothing;
});

/** Removes a topic with all that it holds. Whoever mirrors the changes derives that from the topic's own. */
export function dropTopic(context: OperationContext, topic: Topic): void {
  for (const group of topic.groups.values()) dropGroup(context, group);
  removePartitions(context, topic, topic.partitions.length);
  topic.stream.removeTopic(topic);
  context.state.topicsCount--;
}

function revokeGrants(context: OperationContext, topic: Topic): void {
  for (const user of context.state.users.values()) {
    const left = user.permissions === null ? null : withoutTopic(user.permissions, topic.stream.id, topic.id);
    if (left === user.permissions) continue;
    user.permissions = left;
    context.record(permissionsUpdated(user, "resource_deleted"));
  }
}
