import { type Topic, Refusal } from "@iggy/engine";
import {
  encodeBatch,
  ErrorCode,
  IggyError,
  type MessageInput,
  type Partitioning,
  type SendConfirmation,
  sendMessages,
} from "@iggy/protocol";
import type { PartitionChoice } from "../../dispatch/partition-choice.js";
import type { Clock } from "../../request.js";
import { list, object, oneOf, optional, type ShapeValue, u32, u64 } from "../json/index.js";
import { empty, json, needs, route, type Route } from "../route/index.js";
import { randomIds } from "./message-id.js";
import type { PartitionWrites } from "./partition-writes.js";
import { sendBodyShape, type SentMessage } from "./send-body.js";
import {
  addressIn,
  fencesOf,
  findTopic,
  targetOf,
  TOPIC_PATH,
  type TopicDirectory,
  topicParams,
} from "./topic-access.js";

export interface SendDeps {
  readonly directory: TopicDirectory;
  readonly choice: PartitionChoice;
  readonly writes: PartitionWrites;
  readonly clock: Clock;
}

const durabilityHeader = { "iggy-durability": "What was reached: `replicated`, `persisted` or `none`." };

const confirmationShape = object({ stream_id: u32, topic_id: u32, partition_id: u32, base_offset: u64 });
const stored = json(
  201,
  "Stored with the durability of the topic.",
  object({ confirmations: list(confirmationShape) }),
  durabilityHeader,
);
const dispatched = empty(202, "Taken; nothing is known of its commit.", durabilityHeader);

export const sendRoute = ({ directory, choice, writes, clock }: SendDeps): Route =>
  route({
    method: "POST",
    path: `${TOPIC_PATH}/messages`,
    tag: "Messages",
    summary: "Append messages to one partition",
    access: needs("send"),
    place: "partition",
    params: topicParams,
    query: object({ ack: optional(oneOf("replicated", "none"), "replicated") }),
    body: sendBodyShape,
    answers: [stored, dispatched],
    serve: async ({ caller, params, query, body, signal }) => {
      const topic = findTopic(directory, params);
      if (!directory.maySend(caller.account.userId, topic)) throw new IggyError(ErrorCode.Unauthorized);
      const partitionId = partitionOf(choice, topic, body.partitioning);
      const batch = batchOf(body.messages, clock.nowMicros());
      const write = {
        caller,
        address: addressIn(topic, partitionId),
        command: sendMessages,
        request: {
          ...targetOf(params),
          partitioning: { kind: "partition_id", partitionId },
          messagesCount: body.messages.length,
          batch,
        },
        fences: fencesOf(topic, partitionId, body.context),
        sizeBytes: batch.length,
        timeoutCode: "produce_timeout",
        signal,
      } as const;
      if (query.ack === "none") {
        await writes.handOn(write);
        return dispatched.of({ "iggy-durability": "none" });
      }
      const { durability } = topic.settings;
      const { confirmations } = await writes.commit(write);
      return stored.of({ confirmations: confirmations.map(confirmationJson) }, { "iggy-durability": durability });
    },
  });

function partitionOf(choice: PartitionChoice, topic: Topic, partitioning: Partitioning): number {
  const chosen = choice.choose(topic, partitioning);
  if (chosen instanceof Refusal) throw new IggyError(chosen.code);
  return chosen;
}

/** The batch as a client would have built it: ids where there are none, the time of now, checksums. */
export function batchOf(messages: readonly SentMessage[], nowMicros: number): Uint8Array {
  const fresh = randomIds(messages.reduce((sum, { id }) => sum + (id === 0n ? 1 : 0), 0));
  let used = 0;
  const inputs = messages.map(({ id, payload, user_headers }): MessageInput => {
    const ownId = id === 0n ? fresh[used++] : id;
    return {
      ...(ownId === undefined ? {} : { id: ownId }),
      payload,
      userHeaders: user_headers,
      originTimestamp: nowMicros,
    };
  });
  return encodeBatch(inputs, { allocate: (size) => Buffer.allocUnsafeSlow(size) });
}

const confirmationJson = (confirmation: SendConfirmation): ShapeValue<typeof confirmationShape> => ({
  stream_id: confirmation.streamId,
  topic_id: confirmation.topicId,
  partition_id: confirmation.partitionId,
  base_offset: confirmation.baseOffset,
});
