import {
  createConsumerGroup,
  createPartitions,
  createStream,
  createTopic,
  deleteConsumerGroup,
  deletePartitions,
  deleteSegments,
  deleteStream,
  deleteTopic,
  getConsumerGroup,
  getConsumerGroups,
  getStream,
  getStreams,
  getTopic,
  getTopics,
  type ConsumerGroup,
  type ConsumerGroupDetails,
  type Identifier,
  type Partition,
  type Stream,
  type Topic,
  type TopicDetails,
} from "@iggy/protocol";
import { listOf, Members } from "../members.js";
import { contextOf } from "./context.js";
import { optionsJson, storedOptions } from "./options.js";
import { type HttpRoutes, idSegment, nothing, query, streamPath, topicPath } from "./route.js";

/** Streams, topics, partitions, segments and groups. */
export function addTopology(routes: HttpRoutes): void {
  routes
    .add(getStreams, {
      request: () => ({ method: "GET", path: "/streams" }),
      reply: ({ json }) => ({ streams: listOf(json, streamOf) }),
    })
    .add(getStream, {
      request: ({ streamId }) => ({ method: "GET", path: streamPath(streamId) }),
      reply: ({ json }) => {
        const details = new Members(json);
        return { stream: streamOf(details), topics: details.list("topics", topicOf) };
      },
      absent: null,
    })
    .add(createStream, {
      request: ({ name, options }) => ({
        method: "POST",
        path: "/streams",
        body: { name, ...createOptions(options) },
      }),
      reply: ({ json }) => streamOf(new Members(json)),
    })
    .add(deleteStream, {
      request: ({ streamId }) => ({ method: "DELETE", path: streamPath(streamId) }),
      reply: nothing,
    })
    .add(getTopics, {
      request: ({ streamId }) => ({ method: "GET", path: `${streamPath(streamId)}/topics` }),
      reply: ({ json }) => ({ topics: listOf(json, topicOf) }),
      // The binary command has none for a stream that does not exist.
      absent: { topics: [] },
    })
    .add(getTopic, {
      request: ({ streamId, topicId }) => ({ method: "GET", path: topicPath(streamId, topicId) }),
      reply: ({ json }) => topicDetails(json),
      absent: null,
    })
    .add(createTopic, {
      request: ({ streamId, partitionsCount, name, options }) => ({
        method: "POST",
        path: `${streamPath(streamId)}/topics`,
        body: { partitions_count: partitionsCount, name, ...createOptions(options) },
      }),
      reply: ({ json }) => topicDetails(json),
    })
    .add(deleteTopic, {
      request: ({ streamId, topicId }) => ({ method: "DELETE", path: topicPath(streamId, topicId) }),
      reply: nothing,
    })
    .add(createPartitions, {
      request: ({ streamId, topicId, partitionsCount }) => ({
        method: "POST",
        path: `${topicPath(streamId, topicId)}/partitions`,
        body: { partitions_count: partitionsCount },
      }),
      reply: nothing,
    })
    .add(deletePartitions, {
      request: ({ streamId, topicId, partitionsCount }) => ({
        method: "DELETE",
        path: `${topicPath(streamId, topicId)}/partitions${query({ partitions_count: partitionsCount })}`,
      }),
      reply: nothing,
    })
    .add(deleteSegments, {
      request: ({ streamId, topicId, partitionId, segmentsCount }) => ({
        method: "DELETE",
        path: `${topicPath(streamId, topicId)}/partitions/${String(partitionId)}${query({ segments_count: segmentsCount })}`,
      }),
      reply: nothing,
    })
    .add(getConsumerGroups, {
      request: ({ streamId, topicId }) => ({ method: "GET", path: groupsPath(streamId, topicId) }),
      reply: ({ json }) => ({ groups: listOf(json, groupOf) }),
    })
    .add(getConsumerGroup, {
      request: ({ streamId, topicId, groupId }) => ({
        method: "GET",
        path: `${groupsPath(streamId, topicId)}/${idSegment(groupId)}`,
      }),
      reply: ({ json }) => groupDetails(json),
      absent: null,
    })
    .add(createConsumerGroup, {
      request: ({ streamId, topicId, name }) => ({
        method: "POST",
        path: groupsPath(streamId, topicId),
        body: { name },
      }),
      reply: ({ json }) => groupDetails(json),
    })
    .add(deleteConsumerGroup, {
      request: ({ streamId, topicId, groupId }) => ({
        method: "DELETE",
        path: `${groupsPath(streamId, topicId)}/${idSegment(groupId)}`,
      }),
      reply: nothing,
    });
}

const groupsPath = (streamId: Identifier, topicId: Identifier): string =>
  `${topicPath(streamId, topicId)}/consumer-groups`;

const createOptions = (options: Parameters<typeof optionsJson>[0]) =>
  options.length === 0 ? {} : { options: optionsJson(options) };

const streamOf = (stream: Members): Stream => ({
  id: stream.u32("id"),
  createdAt: stream.u64("created_at"),
  topicsCount: stream.u32("topics_count"),
  sizeBytes: stream.size("size"),
  messagesCount: stream.u64("messages_count"),
  name: stream.text("name"),
  ...storedOptions(stream),
});

const topicOf = (topic: Members): Topic => ({
  id: topic.u32("id"),
  createdAt: topic.u64("created_at"),
  partitionsCount: topic.u32("partitions_count"),
  sizeBytes: topic.size("size"),
  messagesCount: topic.u64("messages_count"),
  name: topic.text("name"),
  ...storedOptions(topic),
});

function topicDetails(json: ConstructorParameters<typeof Members>[0]): TopicDetails {
  const details = new Members(json);
  return { topic: topicOf(details), partitions: details.list("partitions", partitionOf) };
}

const partitionOf = (partition: Members): Partition => ({
  id: partition.u32("id"),
  createdAt: partition.u64("created_at"),
  segmentsCount: partition.u32("segments_count"),
  currentOffset: partition.u64("current_offset"),
  sizeBytes: partition.size("size"),
  messagesCount: partition.u64("messages_count"),
  context: contextOf(partition.object("context")),
  members: partition.u32s("members"),
  inSyncMembers: partition.u32s("in_sync_members"),
});

const groupOf = (group: Members): ConsumerGroup => ({
  id: group.u32("id"),
  name: group.text("name"),
  partitionsCount: group.u32("partitions_count"),
  membersCount: group.u32("members_count"),
});

function groupDetails(json: ConstructorParameters<typeof Members>[0]): ConsumerGroupDetails {
  const details = new Members(json);
  const members = details.list("members", (member) => ({
    id: member.u32("id"),
    partitionsCount: member.u32("partitions_count"),
    partitions: member.u32s("partitions"),
  }));
  return { group: groupOf(details), members };
}
