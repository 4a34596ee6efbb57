import { createHash } from "node:crypto";
import {
  createConsumerGroup,
  createPartitions,
  createPersonalAccessToken,
  createStream,
  createTopic,
  createUser,
  deleteConsumerGroup,
  deleteStream,
  deleteTopic,
  getConsumerGroup,
  getPersonalAccessTokens,
  getStream,
  getStreams,
  getTopic,
  getUser,
  getUsers,
  joinConsumerGroup,
  noPermissions,
  numericId,
  OptionScope,
  optionString,
  syncConsumerGroup,
  updateResource,
} from "@iggy/protocol";
import {
  atOffset,
  consumer,
  expiry,
  fixedPartitions,
  group,
  messages,
  next,
  persisted,
  type Polled,
  RawPartition,
  type RawSession,
  segmentSize,
} from "../raw-client/index.js";

/** Something of everything that a server keeps, as a client sees it. */
export interface Estate {
  readonly token: string;
  readonly partitions: readonly RawPartition[];
}

const MIB = 1024 * 1024;
export const reader = { username: "reader", password: "reads-only" };

/** Fills an empty server. Some of it is made only to be deleted, so that ids have gaps. */
export async function furnish(session: RawSession): Promise<Estate> {
  for (const name of ["gone", "orders", "payments"]) await session.call(createStream, { name, options: [] });
  const streamId = numericId(1);
  const topics = [
    { name: "gone", partitionsCount: 1, options: [] },
    { name: "plain", partitionsCount: 2, options: [] },
    { name: "safe", partitionsCount: 1, options: [...persisted, segmentSize(MIB), fixedPartitions] },
    { name: "empty", partitionsCount: 0, options: [expiry(3_600_000_000)] },
  ];
  for (const topic of topics) await session.call(createTopic, { streamId, ...topic });
  const plain = { streamId, topicId: numericId(1) };
  await session.call(createPartitions, { ...plain, partitionsCount: 1 });
  for (const name of ["first", "second", "third"]) await session.call(createConsumerGroup, { ...plain, name });
  await session.call(deleteConsumerGroup, { ...plain, groupId: numericId(2) });
  await session.call(joinConsumerGroup, { ...plain, groupId: numericId(1) });
  await session.call(deleteTopic, { streamId, topicId: numericId(0) });
  await session.call(deleteStream, { streamId: numericId(0) });
  const target = { scope: OptionScope.topic, streamId, topicId: numericId(3) };
  await session.call(updateResource, { target, reset: [], options: [optionString("max_topic_size", "10 GiB")] });
  const permissions = { ...noPermissions, global: { ...noPermissions.global, readStreams: true } };
  await session.call(createUser, { ...reader, status: 1, permissions, options: [] });
  await session.call(createUser, { username: "idle", password: "s3cret", status: 2, permissions: null, options: [] });
  const { token } = await session.call(createPersonalAccessToken, { name: "lasting", expiry: 0n });
  await session.call(createPersonalAccessToken, { name: "limited", expiry: 3_600_000_000n });

  const partitions: RawPartition[] = [];
  for (const [topicId, partitionId] of [
    [1, 0],
    [1, 1],
    [1, 2],
    [2, 0],
  ] as const) {
    partitions.push(await RawPartition.of(session, streamId, numericId(topicId), partitionId));
  }
  for (const [index, partition] of partitions.entries()) {
    for (let batch = 0; batch < 3; batch++) await partition.send(messages(10 + index, `batch ${batch}`));
    await partition.store(5 + index, consumer(7));
  }
  const safe = partitions[3]!;
  for (let i = 0; i < 3; i++)
    await safe.send([{ payload: Buffer.alloc(600_000, i), originTimestamp: 5, id: BigInt(i) }]);
  const owned = partitions[0]!;
  const { context } = await owned.poll(next, { consumer: group(1), count: 4 });
  await owned.store(3, group(1), { ownerGeneration: context.ownerGeneration });
  return { token, partitions };
}

/** Every fact about it that a client can read, in a form to compare. */
export async function survey(session: RawSession, { partitions }: Estate): Promise<unknown> {
  const { streams } = await session.call(getStreams, {});
  const details: unknown[] = [];
  for (const { id } of streams) {
    const streamId = numericId(id);
    const stream = await session.call(getStream, { streamId });
    details.push(stream);
    for (const { id: topic } of stream?.topics ?? []) {
      const found = await session.call(getTopic, { streamId, topicId: numericId(topic) });
      // What a context says of the node's progress is no fact about the topic.
      details.push({
        topic: found?.topic,
        partitions: found?.partitions.map(({ context: { incarnation }, ...rest }) => ({
          ...rest,
          context: incarnation,
        })),
      });
    }
  }
  const { users } = await session.call(getUsers, {});
  for (const { id } of users) details.push(await session.call(getUser, { userId: numericId(id) }));
  details.push(await session.call(getPersonalAccessTokens, {}));
  const plain = { streamId: numericId(1), topicId: numericId(1) };
  for (const id of [0, 1]) {
    const groupId = numericId(id);
    details.push(await session.call(getConsumerGroup, { ...plain, groupId }));
    details.push(await session.call(syncConsumerGroup, { ...plain, groupId }));
  }
  for (const partition of partitions) {
    const here = partition.by(session);
    details.push(await here.stored(consumer(7)), await here.poll(atOffset(0), { count: 1000 }).then(withoutProgress));
    details.push(await here.stored(consumer(8)));
  }
  details.push(await partitions[0]!.by(session).stored(group(1)));
  return details;
}

/** A reply without what it says of the node's progress, and with digests in place of large payloads. */
const withoutProgress = ({ context, messages: found, ...polled }: Polled) => ({
  ...polled,
  incarnation: context.incarnation,
  messages: found.map((each) => ({ ...each, payload: createHash("sha256").update(each.payload).digest("hex") })),
});
