import { connect, Consumer, Partitioning, PollingStrategy } from "@iggy/sdk";

/**
 * The SDK against a running server: one client in this process sends batches to several partitions at once, then reads
 * them back.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/bench/sdk.ts [url] [batches] [partitions]
 */
const url = process.argv[2] ?? "iggy://iggy:iggy@127.0.0.1:8090";
const batches = Number(process.argv[3] ?? 4000);
const partitions = Number(process.argv[4] ?? 4);
const MESSAGES = 250;
const payload = new Uint8Array(1000).fill(7);

await using client = await connect(url);
const stream = await client.stream.create({ name: `bench-${Date.now()}` });
const topic = await client.topic.create({ streamId: stream.id, name: "messages", partitionCount: partitions });
const place = { streamId: stream.id, topicId: topic.id };
const perPartition = Math.floor(batches / partitions);
const messages = Array.from({ length: MESSAGES }, () => ({ payload }));
const ids = Array.from({ length: partitions }, (_, id) => id);

await measure("produce", () =>
  Promise.all(
    ids.map(async (id) => {
      for (let sent = 0; sent < perPartition; sent++) {
        await client.message.send({ ...place, partition: Partitioning.PartitionId(id), messages });
      }
    }),
  ),
);

await measure("consume", () =>
  Promise.all(
    ids.map(async (partitionId) => {
      let read = 0;
      while (read < perPartition * MESSAGES) {
        const polled = await client.message.poll({
          ...place,
          partitionId,
          consumer: Consumer.Single,
          pollingStrategy: PollingStrategy.Offset(BigInt(read)),
          options: { count: MESSAGES },
        });
        for (const message of polled.messages) read += message.payload.length === payload.length ? 1 : 0;
      }
    }),
  ),
);
await client.stream.delete({ streamId: stream.id });

async function measure(what: string, run: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await run();
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round((perPartition * partitions * MESSAGES) / seconds);
  console.log(`sdk ${what} ${rate} msg/s (${seconds.toFixed(2)} s)`);
}
