import { createConsumerGroup, joinConsumerGroup, numericId } from "@iggy/protocol";
import { expect, it } from "vitest";
import {
  consumer,
  freshTopic,
  group,
  messages,
  next,
  outcome,
  persisted,
  type RawPartition,
  RawLink,
  RawSession,
} from "../raw-client/index.js";
import { MemoryMachine } from "../server/memory-machine.js";

/** What came back only from the journal is not in its file yet; the next checkpoint drops that part of the journal. */
for (const options of [[], persisted]) {
  const policy = options.length === 0 ? "replicated" : "persisted";
  it(`an offset that a start read from the journal outlives the checkpoint behind it (${policy})`, async () => {
    await using machine = await MemoryMachine.create();
    let server = await machine.start();
    const session = await RawSession.open(server.port);
    const { streamId, topicId, partitions } = await freshTopic(session, { options });
    const [partition] = partitions as [RawPartition];
    const target = { streamId: numericId(streamId), topicId: numericId(topicId) };
    await session.call(createConsumerGroup, { ...target, name: "readers" });
    await session.call(joinConsumerGroup, { ...target, groupId: numericId(0) });
    await partition.send(messages(10));
    const { context } = await partition.poll(next, { consumer: group(0) });
    const storeAll = async (offset: number): Promise<void> => {
      await partition.store(offset);
      await partition.store(offset, group(0), { ownerGeneration: context.ownerGeneration });
    };
    const restart = async (): Promise<void> => {
      server = await machine.start();
      expect(outcome(await session.bind(await RawLink.connect(server.port)))).toBe("ok");
    };

    await storeAll(2);
    await partition.store(3, consumer(2));
    await server.stop();
    await restart();
    await storeAll(7);
    expect(outcome(await partition.tryDeleteOffset(consumer(2)))).toBe("ok");
    machine.disk = machine.disk.kill();
    await restart();
    for (let stops = 0; stops < 2; stops++) {
      expect((await partition.stored())?.storedOffset).toBe(7n);
      expect((await partition.stored(group(0)))?.storedOffset).toBe(7n);
      expect(await partition.stored(consumer(2))).toBeNull();
      await server.stop();
      await restart();
    }
  });
}
