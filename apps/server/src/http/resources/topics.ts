import {
  createTopic,
  deleteTopic,
  ErrorCode,
  getStream,
  getTopic,
  getTopics,
  type Identifier,
  identifierText as textOf,
  IggyError,
  OptionScope,
  type Partition,
  type Topic,
  type TopicDetails,
  updateResource,
} from "@iggy/protocol";
import type { Caller, Commands } from "../commands/index.js";
import { byteSizeText, list, object, type ShapeValue, text, u32, u64, u8 } from "../json/index.js";
import { empty, identifierText, json, needs, notFound, route, type Route } from "../route/index.js";
import { byteSize } from "./byte-size.js";
import { createOptions, optionsJson, optionsShape, patchShape } from "./options-json.js";
import { consistent } from "./reading.js";

const topicFields = {
  id: u32,
  created_at: u64,
  name: text(),
  size: byteSize,
  messages_count: u64,
  partitions_count: u32,
} as const;

const partitionShape = object({
  id: u32,
  created_at: u64,
  segments_count: u32,
  current_offset: u64,
  size: byteSize,
  messages_count: u64,
  context: object({ incarnation: u64, owner_generation: u64, metadata_op: u64 }),
  members: list(u8),
  in_sync_members: list(u8),
});

export const topicShape = object({ ...topicFields, options: optionsShape });
const detailsShape = object({ ...topicFields, partitions: list(partitionShape), options: optionsShape });

const fieldsJson = (topic: Topic): Omit<ShapeValue<typeof topicShape>, "options"> => ({
  id: topic.id,
  created_at: topic.createdAt,
  name: topic.name,
  size: byteSizeText(topic.sizeBytes),
  messages_count: topic.messagesCount,
  partitions_count: topic.partitionsCount,
});

export const topicJson = (topic: Topic): ShapeValue<typeof topicShape> => ({
  ...fieldsJson(topic),
  options: optionsJson(topic.options, topic.derivedOptions),
});

const partitionJson = (partition: Partition): ShapeValue<typeof partitionShape> => ({
  id: partition.id,
  created_at: partition.createdAt,
  segments_count: partition.segmentsCount,
  current_offset: partition.currentOffset,
  size: byteSizeText(partition.sizeBytes),
  messages_count: partition.messagesCount,
  context: {
    incarnation: partition.context.incarnation,
    owner_generation: partition.context.ownerGeneration,
    metadata_op: partition.context.metadataOp,
  },
  members: partition.members,
  in_sync_members: partition.inSyncMembers,
});

const detailsJson = ({ topic, partitions }: TopicDetails): ShapeValue<typeof detailsShape> => ({
  ...fieldsJson(topic),
  partitions: partitions.map(partitionJson),
  options: optionsJson(topic.options, topic.derivedOptions),
});

const listed = json(200, "The topics of the stream.", list(topicShape));
const found = json(200, "The topic.", detailsShape);
const created = json(200, "The topic as it was made.", detailsShape);
const done = empty(204, "Done.");

const tag = "Topics";
const parent = object({ stream_id: identifierText });
const target = object({ stream_id: identifierText, topic_id: identifierText });

export const topicRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "GET",
    path: "/streams/{stream_id}/topics",
    tag,
    summary: "List the topics of a stream",
    access: needs("listTopics"),
    place: "consistency",
    params: parent,
    query: consistent,
    answers: [listed],
    serve: async ({ caller, params }) => {
      const { topics } = await runner.run(caller, getTopics, { streamId: params.stream_id });
      if (topics.length === 0 && !(await isStream(runner, caller, params.stream_id))) {
        throw notFound(`there is no stream ${textOf(params.stream_id)}`);
      }
      return listed.of(topics.map(topicJson));
    },
  }),
  route({
    method: "POST",
    path: "/streams/{stream_id}/topics",
    tag,
    summary: "Create a topic",
    access: needs("createTopic"),
    place: "primary",
    params: parent,
    body: object({
      partitions_count: u32,
      name: text({ min: 1, max: 255, code: ErrorCode.InvalidTopicName }),
      options: createOptions("topic"),
    }),
    answers: [created],
    serve: async ({ caller, params, body }) => {
      const topic = await runner.run(caller, createTopic, {
        streamId: params.stream_id,
        partitionsCount: body.partitions_count,
        name: body.name,
        options: body.options,
      });
      return created.of(detailsJson(topic));
    },
  }),
  route({
    method: "GET",
    path: "/streams/{stream_id}/topics/{topic_id}",
    tag,
    summary: "Read a topic and its partitions",
    access: needs("readTopic"),
    place: "consistency",
    params: target,
    query: consistent,
    answers: [found],
    serve: async ({ caller, params }) => {
      const topic = await runner.run(caller, getTopic, { streamId: params.stream_id, topicId: params.topic_id });
      if (topic === null) {
        throw notFound(`there is no topic ${textOf(params.topic_id)} in stream ${textOf(params.stream_id)}`);
      }
      return found.of(detailsJson(topic));
    },
  }),
  route({
    method: "PUT",
    path: "/streams/{stream_id}/topics/{topic_id}",
    tag,
    summary: "Change a topic",
    access: needs("manageTopic"),
    place: "primary",
    params: target,
    body: patchShape("topic"),
    answers: [done],
    serve: async ({ caller, params, body: { options, reset } }) => {
      await runner.run(caller, updateResource, {
        target: { scope: OptionScope.topic, streamId: params.stream_id, topicId: params.topic_id },
        reset,
        options,
      });
      return done.of();
    },
  }),
  route({
    method: "DELETE",
    path: "/streams/{stream_id}/topics/{topic_id}",
    tag,
    summary: "Delete a topic with its messages",
    access: needs("manageTopic"),
    place: "primary",
    params: target,
    answers: [done],
    serve: async ({ caller, params }) => {
      await runner.run(caller, deleteTopic, { streamId: params.stream_id, topicId: params.topic_id });
      return done.of();
    },
  }),
];

/** The command that lists topics has none for a stream that does not exist, too. */
async function isStream(runner: Commands, caller: Caller, streamId: Identifier): Promise<boolean> {
  try {
    return (await runner.run(caller, getStream, { streamId })) !== null;
  } catch (error) {
    // Only what exists can be denied.
    if (error instanceof IggyError && error.code === ErrorCode.Unauthorized) return true;
    throw error;
  }
}
