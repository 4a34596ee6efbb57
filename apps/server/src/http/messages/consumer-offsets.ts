import {
  deleteConsumerOffset,
  getConsumerOffset,
  type Identifier,
  parseIdentifier,
  numericId,
  storeConsumerOffset,
} from "@iggy/protocol";
import type { CommandRunner } from "../commands/index.js";
import { nullable, object, oneOf, optional, partitionContextShape, type Shape, text, u32, u64 } from "../json/index.js";
import { empty, identifierText, json, needs, notFound, route, type Route } from "../route/index.js";
import { within } from "./deadline.js";
import type { PartitionWrites } from "./partition-writes.js";
import { CONSUMER_KINDS, consumerOf, consumerQuery } from "./poll-query.js";
import {
  addressIn,
  fencesOf,
  findTopic,
  targetOf,
  TOPIC_PATH,
  type TopicDirectory,
  topicParams,
} from "./topic-access.js";

const READ_MILLIS = 10_000;
/** What a stored offset counts as among the bytes of writes under way. */
const OFFSET_BYTES = 64;

export interface OffsetDeps {
  readonly directory: TopicDirectory;
  readonly runner: CommandRunner;
  readonly writes: PartitionWrites;
}

/** A consumer in a body: its name, or its id as text or number. */
const consumerIdShape: Shape<Identifier> = {
  schema: { oneOf: [text({ min: 1, max: 255 }).schema, u32.schema] },
  read: (json) => (typeof json === "number" ? numericId(u32.read(json)) : parseIdentifier(text().read(json))),
};

const storeBody = object({
  consumer_kind: optional(oneOf(...CONSUMER_KINDS), "consumer" as const),
  consumer_id: consumerIdShape,
  partition_id: optional(nullable(u32), null),
  offset: u64,
  context: optional(nullable(partitionContextShape), null),
});

const found = json(
  200,
  "The stored offset, and the last one of the partition.",
  object({ partition_id: u32, current_offset: u64, stored_offset: u64 }),
);
const stored = empty(204, "Stored.");
const deleted = empty(204, "Forgotten.");

const tag = "Consumer offsets";
const path = `${TOPIC_PATH}/consumer-offsets`;

export const offsetRoutes = ({ directory, runner, writes }: OffsetDeps): readonly Route[] => [
  route({
    method: "GET",
    path,
    tag,
    summary: "Show how far a consumer got",
    access: needs("poll"),
    place: "partition",
    params: topicParams,
    query: object(consumerQuery),
    answers: [found],
    serve: async ({ caller, params, query, signal }) => {
      const { partition_id: partitionId } = query;
      const request = { ...targetOf(params), consumer: consumerOf(query), partitionId };
      const offset = await within(
        runner.run(caller, getConsumerOffset, request, { signal }),
        READ_MILLIS,
        "partition_read_timeout",
        "the partition did not answer in time",
      );
      if (offset === null) throw notFound("the consumer has stored no offset for this partition");
      return found.of({
        partition_id: offset.partitionId,
        current_offset: offset.currentOffset,
        stored_offset: offset.storedOffset,
      });
    },
  }),
  route({
    method: "PUT",
    path,
    tag,
    summary: "Store how far a consumer got",
    access: needs("poll"),
    place: "partition",
    params: topicParams,
    body: storeBody,
    answers: [stored],
    serve: async ({ caller, params, body, signal }) => {
      const topic = findTopic(directory, params);
      const partitionId = body.partition_id ?? 0;
      await writes.commit({
        caller,
        address: addressIn(topic, partitionId),
        command: storeConsumerOffset,
        request: { ...targetOf(params), consumer: consumerOf(body), partitionId, offset: body.offset, ack: "quorum" },
        fences: fencesOf(topic, partitionId, body.context),
        sizeBytes: OFFSET_BYTES,
        timeoutCode: "offset_write_timeout",
        signal,
      });
      return stored.of();
    },
  }),
  route({
    method: "DELETE",
    path: `${path}/{consumer_id}`,
    tag,
    summary: "Forget how far a consumer got",
    access: needs("poll"),
    place: "partition",
    params: object({ stream_id: identifierText, topic_id: identifierText, consumer_id: identifierText }),
    query: object({ consumer_kind: consumerQuery.consumer_kind, partition_id: consumerQuery.partition_id }),
    answers: [deleted],
    serve: async ({ caller, params, query, signal }) => {
      const topic = findTopic(directory, params);
      const { partition_id: partitionId, consumer_kind } = query;
      const consumer = consumerOf({ consumer_kind, consumer_id: params.consumer_id });
      await writes.commit({
        caller,
        address: addressIn(topic, partitionId),
        command: deleteConsumerOffset,
        request: { ...targetOf(params), consumer, partitionId, ack: "quorum" },
        fences: fencesOf(topic, partitionId, null),
        sizeBytes: OFFSET_BYTES,
        timeoutCode: "offset_write_timeout",
        signal,
      });
      return deleted.of();
    },
  }),
];
