import { createConsumerGroup, joinConsumerGroup, logoutUser, numericId, syncConsumerGroup } from "@iggy/protocol";
import { expect, it } from "vitest";
import { eventually, freshTopic, group, messages, next, outcome, RawSession } from "../raw-client/index.js";
import { MemoryMachine } from "./memory-machine.js";

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
  const { group: created } = await alice.call(createConsumerGroup, { ...target, name: "readers" });
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
