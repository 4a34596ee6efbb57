import { type Client, Partitioning } from "@iggy/sdk";
import { expectRefusal, prepareTenants, prepareUser, signInAs } from "./access.js";
import { settings, type Tenant, tenants, TOPICS } from "./settings.js";

const BATCHES = 3;
const MESSAGES_PER_BATCH = 10;

const streamIds = await prepareTenants(settings.partitions);
await Promise.all(Array.from(streamIds, ([tenant, streamId]) => produce(tenant, streamId)));

async function produce(tenant: Tenant, streamId: number): Promise<void> {
  const username = `tenant-${tenant.number}-producer`;
  await prepareUser(username, streamId, { sendMessages: true, readTopics: true });
  await using client = await signInAs(username);
  if (settings.ensureAccess) await ensureIsolation(client, username, tenant);
  const producers = TOPICS.flatMap((topic) =>
    Array.from({ length: settings.producers }, (_, index) => send(client, tenant, topic, index + 1)),
  );
  await Promise.all(producers);
  console.log(`${username} sent ${producers.length * BATCHES * MESSAGES_PER_BATCH} messages to ${tenant.stream}.`);
}

async function send(client: Client, tenant: Tenant, topic: string, producer: number): Promise<void> {
  for (let batch = 1; batch <= BATCHES; batch++) {
    const messages = Array.from({ length: MESSAGES_PER_BATCH }, (_, index) => ({
      payload: `${topic} of tenant ${tenant.number}, producer ${producer}, batch ${batch}, message ${index + 1}`,
    }));
    const partition = Partitioning.Balanced;
    await client.message.send({ streamId: tenant.stream, topicId: topic, partition, messages });
  }
}

async function ensureIsolation(client: Client, username: string, tenant: Tenant): Promise<void> {
  const message = { topicId: "events", partition: Partitioning.PartitionId(0), messages: [{ payload: "intruder" }] };
  for (const other of tenants.filter((other) => other !== tenant)) {
    const intrusion = client.message.send({ streamId: other.stream, ...message });
    await expectRefusal(`${username} sends to ${other.stream}`, intrusion);
  }
}
