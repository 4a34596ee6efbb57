import {
  createStream,
  deleteStream,
  ErrorCode,
  getStream,
  getStreams,
  identifierText as textOf,
  OptionScope,
  type Stream,
  type StreamDetails,
  updateResource,
} from "@iggy/protocol";
import type { Commands } from "../commands/index.js";
import { byteSizeText, list, object, type ShapeValue, text, u32, u64 } from "../json/index.js";
import { empty, identifierText, json, needs, notFound, route, type Route } from "../route/index.js";
import { byteSize } from "./byte-size.js";
import { createOptions, optionsJson, optionsShape, patchShape } from "./options-json.js";
import { consistent } from "./reading.js";
import { topicJson, topicShape } from "./topics.js";

const streamFields = {
  id: u32,
  created_at: u64,
  name: text(),
  size: byteSize,
  messages_count: u64,
  topics_count: u32,
} as const;

const streamShape = object({ ...streamFields, options: optionsShape });
const detailsShape = object({ ...streamFields, topics: list(topicShape), options: optionsShape });

const fieldsJson = (stream: Stream): Omit<ShapeValue<typeof streamShape>, "options"> => ({
  id: stream.id,
  created_at: stream.createdAt,
  name: stream.name,
  size: byteSizeText(stream.sizeBytes),
  messages_count: stream.messagesCount,
  topics_count: stream.topicsCount,
});

const streamJson = (stream: Stream): ShapeValue<typeof streamShape> => ({
  ...fieldsJson(stream),
  options: optionsJson(stream.options, stream.derivedOptions),
});

const detailsJson = ({ stream, topics }: StreamDetails): ShapeValue<typeof detailsShape> => ({
  ...fieldsJson(stream),
  topics: topics.map(topicJson),
  options: optionsJson(stream.options, stream.derivedOptions),
});

const listed = json(200, "The streams.", list(streamShape));
const found = json(200, "The stream.", detailsShape);
const created = json(200, "The stream as it was made.", detailsShape);
const done = empty(204, "Done.");

const tag = "Streams";
const target = object({ stream_id: identifierText });

export const streamRoutes = (runner: Commands): readonly Route[] => [
  route({
    method: "GET",
    path: "/streams",
    tag,
    summary: "List the streams",
    access: needs("listStreams"),
    place: "consistency",
    query: consistent,
    answers: [listed],
    serve: async ({ caller }) => listed.of((await runner.run(caller, getStreams, {})).streams.map(streamJson)),
  }),
  route({
    method: "POST",
    path: "/streams",
    tag,
    summary: "Create a stream",
    access: needs("createStream"),
    place: "primary",
    body: object({
      name: text({ min: 1, max: 255, code: ErrorCode.InvalidStreamName }),
      options: createOptions("stream"),
    }),
    answers: [created],
    serve: async ({ caller, body }) =>
      created.of(detailsJson({ stream: await runner.run(caller, createStream, body), topics: [] })),
  }),
  route({
    method: "GET",
    path: "/streams/{stream_id}",
    tag,
    summary: "Read a stream and its topics",
    access: needs("readStream"),
    place: "consistency",
    params: target,
    query: consistent,
    answers: [found],
    serve: async ({ caller, params }) => {
      const stream = await runner.run(caller, getStream, { streamId: params.stream_id });
      if (stream === null) throw notFound(`there is no stream ${textOf(params.stream_id)}`);
      return found.of(detailsJson(stream));
    },
  }),
  route({
    method: "PUT",
    path: "/streams/{stream_id}",
    tag,
    summary: "Change a stream",
    access: needs("manageStream"),
    place: "primary",
    params: target,
    body: patchShape("stream"),
    answers: [done],
    serve: async ({ caller, params, body: { options, reset } }) => {
      await runner.run(caller, updateResource, {
        target: { scope: OptionScope.stream, streamId: params.stream_id },
        reset,
        options,
      });
      return done.of();
    },
  }),
  route({
    method: "DELETE",
    path: "/streams/{stream_id}",
    tag,
    summary: "Delete a stream with its topics and messages",
    access: needs("manageStream"),
    place: "primary",
    params: target,
    answers: [done],
    serve: async ({ caller, params }) => {
      await runner.run(caller, deleteStream, { streamId: params.stream_id });
      return done.of();
    },
  }),
];
