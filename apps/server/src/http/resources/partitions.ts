import { createPartitions, deletePartitions, deleteSegments } from "@iggy/protocol";
import type { Commands } from "../commands/index.js";
import { object, u32 } from "../json/index.js";
import { empty, identifierText, needs, route, type Route, u32Text } from "../route/index.js";

const added = empty(200, "The partitions were added.");
const done = empty(204, "Done.");

const tag = "Partitions";
const path = "/streams/{stream_id}/topics/{topic_id}/partitions";
const topic = object({ stream_id: identifierText, topic_id: identifierText });

export const partitionRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "POST",
    path,
    tag,
    summary: "Add partitions to a topic",
    access: needs("manageTopic"),
    place: "primary",
    params: topic,
    body: object({ partitions_count: u32 }),
    answers: [added],
    serve: async ({ caller, params, body }) => {
      await runner.run(caller, createPartitions, {
        streamId: params.stream_id,
        topicId: params.topic_id,
        partitionsCount: body.partitions_count,
      });
      return added.of();
    },
  }),
  route({
    method: "DELETE",
    path,
    tag,
    summary: "Delete the highest partitions of a topic with their messages",
    access: needs("manageTopic"),
    place: "primary",
    params: topic,
    query: object({ partitions_count: u32Text }),
    answers: [done],
    serve: async ({ caller, params, query }) => {
      await runner.run(caller, deletePartitions, {
        streamId: params.stream_id,
        topicId: params.topic_id,
        partitionsCount: query.partitions_count,
      });
      return done.of();
    },
  }),
  route({
    method: "DELETE",
    path: `${path}/{partition_id}`,
    tag,
    summary: "Delete the oldest sealed segments of a partition",
    access: needs("manageTopic"),
    place: "primary",
    params: object({ stream_id: identifierText, topic_id: identifierText, partition_id: u32Text }),
    query: object({ segments_count: u32Text }),
    answers: [done],
    serve: async ({ caller, params, query }) => {
      await runner.run(caller, deleteSegments, {
        streamId: params.stream_id,
        topicId: params.topic_id,
        partitionId: params.partition_id,
        segmentsCount: query.segments_count,
      });
      return done.of();
    },
  }),
];
