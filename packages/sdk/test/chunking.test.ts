import { encodeUserHeaders, pollMessagesDeferred } from "@iggy/protocol";
import { expect, test } from "vitest";
import { Consumer, DeserializeError, PollingStrategy } from "../src/index.js";
import { carriers, MemoryNetwork } from "./support/memory-network.js";
import { ScriptedPartition } from "./support/poll-replies.js";
import { ScriptedNode } from "./support/scripted-node.js";

/*
 * The same messages, wherever the stream of bytes is cut; and no messages at all from bytes that were damaged on the way.
 */

const chunkSizes = [1, 7, 255, 256, 257, 4095, 65_537];

function partitionOf(count: number): ScriptedPartition {
  const partition = new ScriptedPartition();
  let left = count;
  let batch = 1;
  while (left > 0) {
    const size = Math.min(left, batch);
    partition.append(
      Array.from({ length: size }, (_, i) => {
        const n = partition.next + i;
        return {
          id: BigInt(n + 1),
          payload: new Uint8Array((n * 13) % 97).fill(n),
          originTimestamp: 1000 + n,
          ...(n % 3 === 0 ? { userHeaders: encodeUserHeaders({ n: { kind: "uint32", value: n } }) } : {}),
        };
      }),
    );
    left -= size;
    batch = batch * 2 + 1;
  }
  return partition;
}

const poll = {
  streamId: 1,
  topicId: 1,
  partitionId: 0,
  consumer: Consumer.Named(1),
  pollingStrategy: PollingStrategy.First,
};

function nodeOf(partition: ScriptedPartition): ScriptedNode {
  const node: ScriptedNode = new ScriptedNode((received) => {
    if (received.code === pollMessagesDeferred.code) partition.serve(node, received);
    else node.answer(received);
  });
  return node;
}

for (const [carrier, chunkSize] of carriers.flatMap((over) => chunkSizes.map((size) => [over, size] as const))) {
  test(`messages in chunks of ${String(chunkSize)} bytes over ${carrier}`, async () => {
    const count = chunkSize === 1 ? 200 : 5000;
    const network = new MemoryNetwork(nodeOf(partitionOf(count)), carrier);
    network.faults = [{ chunkSize }];
    await using client = network.client();
    const polled = await client.message.poll({ ...poll, options: { count: 5000, maxBytes: 10_000_000 } });
    expect(polled.count).toBe(count);
    polled.messages.forEach((message, n) => {
      expect(message.offset).toBe(BigInt(n));
      expect(message.id).toBe(BigInt(n + 1));
      expect(message.payload).toHaveLength((n * 13) % 97);
      expect(message.payload.every((byte) => byte === n % 256)).toBe(true);
      expect(message.userHeaders).toEqual(
        n % 3 === 0 ? [{ key: { kind: "string", value: "n" }, value: { kind: "uint32", value: n } }] : [],
      );
    });
    const again = await client.message.poll({ ...poll, options: { count: 5000, maxBytes: 10_000_000 } });
    expect(again.count).toBe(count);
  });
}

test("a bit that flipped on the way is a checksum error; the client can be used on", async () => {
  const partition = partitionOf(10);
  const reply = partition.reply(0, 1000);
  // Every bit position of the records would do; these hit headers, payloads and user headers.
  for (let at = 41; at < reply.length; at += 11) {
    const network = new MemoryNetwork(nodeOf(partition));
    await using client = network.client();
    await client.connect();
    const before = await sizeUntilPoll(partition);
    network.faults = [{}, { flipBit: before + 256 + at }];
    await client.disconnect();
    const error = await client
      .connect()
      .then(() => client.message.poll(poll))
      .catch((failure: unknown) => failure);
    expect(error, `byte ${String(at)}`).toBeInstanceOf(DeserializeError);
    await expect(client.message.poll(poll)).resolves.toMatchObject({ count: 10 });
  }
});

/** Bytes that a client gets before the reply of its first poll. */
async function sizeUntilPoll(partition: ScriptedPartition): Promise<number> {
  let size = 0;
  const node: ScriptedNode = new ScriptedNode((received) => {
    const { wire } = received;
    const counting = {
      ...received,
      wire: {
        end: () => wire.end(),
        reset: () => wire.reset(),
        write: (bytes: Uint8Array) => {
          if (received.code !== pollMessagesDeferred.code) size += bytes.length;
          wire.write(bytes);
        },
      },
    };
    if (received.code === pollMessagesDeferred.code) partition.serve(node, counting);
    else node.answer(counting);
  });
  await using client = new MemoryNetwork(node).client();
  await client.message.poll(poll);
  return size;
}
