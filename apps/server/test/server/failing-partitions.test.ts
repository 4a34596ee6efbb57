import {
  createConsumerGroup,
  deleteSegments,
  ErrorCode,
  joinConsumerGroup,
  logoutUser,
  numericId,
  syncConsumerGroup,
} from "@iggy/protocol";
import { expect, it } from "vitest";
import {
  eventually,
  freshPartition,
  freshTopic,
  group,
  messages,
  next,
  outcome,
  RawSession,
} from "../raw-client/index.js";
import { MemoryMachine } from "./memory-machine.js";

it("a partition that failed does not report segments as deleted", async () => {
  await using machine = await MemoryMachine.create();
  const server = await machine.start();
  const session = await RawSession.open(server.port);
  const partition = await freshPartition(session);
  await partition.send(messages(1));
  const { streamId, topicId, partitionId } = partition;
  const oldest = { streamId, topicId, partitionId, segmentsCount: 1 };
  expect(await session.try(deleteSegments, oldest)).toBe("ok");
  machine.disk.fail({ operation: "write", path: (path) => path.includes("/streams/"), code: "EIO" });
  await partition.trySend(messages(1));
  expect(await session.try(deleteSegments, oldest)).toBe(`status ${ErrorCode.TransientNotAccepted}`);
});

it("a partition whose disk fails holds up no handover of a group elsewhere", async () => {
  await using machine = await MemoryMachine.create();
  const server = await machine.start({ "consumer_group.rebalancing_timeout": "1 s" });
  const [alice, bob, gone] = [
    await RawSession.open(server.port),
    await RawSession.open(server.port),
    await RawSession.open(server.port),
  ];
  const { streamId, topicId, partitions } = await freshTopic(alice, { partitions: 2 });
  const target = { streamId: numericId(streamId), topicId: numericId(topicId) };
  const { group: created } = await alice.call(createConsumerGroup, {
    ...target,
    name: "readers",
  });
  const member = { ...target, groupId: numericId(created.id) };
  const assigned = async (session: RawSession) => (await session.call(syncConsumerGroup, member))?.partitions.length;

  // From here on the retirement of a session waits for a partition that does not open.
  machine.disk.fail({ operation: "create", path: (path) => path.includes("/streams/1/"), code: "EIO" });
  await freshTopic(alice);
  expect(outcome(await gone.send(logoutUser, new Uint8Array(0)))).toBe("ok");

  await alice.call(joinConsumerGroup, member);
  for (const partition of partitions) {
    await partition.send(messages(1));
    expect(outcome(await partition.tryPoll(next, { consumer: group(created.id) }))).toBe("ok");
  }
  await bob.call(joinConsumerGroup, member);
  expect(await assigned(bob)).toBe(0);
  await eventually("the handover completes", async () => (await assigned(bob)) === 1, 4_000);
});
