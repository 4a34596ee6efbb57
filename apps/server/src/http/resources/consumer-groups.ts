import {
  type ConsumerGroup,
  type ConsumerGroupDetails,
  createConsumerGroup,
  deleteConsumerGroup,
  ErrorCode,
  getConsumerGroup,
  getConsumerGroups,
  identifierText as textOf,
} from "@iggy/protocol";
import type { Commands } from "../commands/index.js";
import { list, object, type ShapeValue, text, u32 } from "../json/index.js";
import { empty, identifierText, json, needs, notFound, route, type Route } from "../route/index.js";
import { consistent } from "./reading.js";

const groupFields = { id: u32, name: text(), partitions_count: u32, members_count: u32 } as const;
const groupShape = object(groupFields);
const detailsShape = object({
  ...groupFields,
  members: list(object({ id: u32, partitions_count: u32, partitions: list(u32) })),
});

const groupJson = (group: ConsumerGroup): ShapeValue<typeof groupShape> => ({
  id: group.id,
  name: group.name,
  partitions_count: group.partitionsCount,
  members_count: group.membersCount,
});

const detailsJson = ({ group, members }: ConsumerGroupDetails): ShapeValue<typeof detailsShape> => ({
  ...groupJson(group),
  members: members.map(({ id, partitionsCount, partitions }) => ({
    id,
    partitions_count: partitionsCount,
    partitions,
  })),
});

const listed = json(200, "The consumer groups of the topic.", list(groupShape));
const found = json(200, "The consumer group.", detailsShape);
const created = json(200, "The consumer group as it was made.", detailsShape);
const done = empty(204, "Done.");

const tag = "Consumer groups";
const path = "/streams/{stream_id}/topics/{topic_id}/consumer-groups";
const parent = object({ stream_id: identifierText, topic_id: identifierText });
const target = object({ stream_id: identifierText, topic_id: identifierText, group_id: identifierText });

export const consumerGroupRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "GET",
    path,
    tag,
    summary: "List the consumer groups of a topic",
    access: needs("readTopic"),
    place: "consistency",
    params: parent,
    query: consistent,
    answers: [listed],
    serve: async ({ caller, params }) => {
      const topic = { streamId: params.stream_id, topicId: params.topic_id };
      return listed.of((await runner.run(caller, getConsumerGroups, topic)).groups.map(groupJson));
    },
  }),
  route({
    method: "POST",
    path,
    tag,
    summary: "Create a consumer group",
    access: needs("readTopic"),
    place: "primary",
    params: parent,
    body: object({ name: text({ min: 1, max: 255, code: ErrorCode.InvalidConsumerGroupName }) }),
    answers: [created],
    serve: async ({ caller, params, body }) => {
      const group = { streamId: params.stream_id, topicId: params.topic_id, name: body.name };
      return created.of(detailsJson(await runner.run(caller, createConsumerGroup, group)));
    },
  }),
  route({
    method: "GET",
    path: `${path}/{group_id}`,
    tag,
    summary: "Read a consumer group and its members",
    access: needs("readTopic"),
    place: "consistency",
    params: target,
    query: consistent,
    answers: [found],
    serve: async ({ caller, params }) => {
      const group = await runner.run(caller, getConsumerGroup, {
        streamId: params.stream_id,
        topicId: params.topic_id,
        groupId: params.group_id,
      });
      if (group === null) throw notFound(`there is no consumer group ${textOf(params.group_id)} in this topic`);
      return found.of(detailsJson(group));
    },
  }),
  route({
    method: "DELETE",
    path: `${path}/{group_id}`,
    tag,
    summary: "Delete a consumer group with its offsets",
    access: needs("readTopic"),
    place: "primary",
    params: target,
    answers: [done],
    serve: async ({ caller, params }) => {
      await runner.run(caller, deleteConsumerGroup, {
        streamId: params.stream_id,
        topicId: params.topic_id,
        groupId: params.group_id,
      });
      return done.of();
    },
  }),
];
