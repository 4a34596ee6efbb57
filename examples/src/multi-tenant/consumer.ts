import { CommitPolicy, Consumer, PollingStrategy } from "@iggy/sdk";
import { expectRefusal, prepareTenants, prepareUser, signInAs } from "./access.js";
import { settings, type Tenant, tenants, TOPICS } from "./settings.js";

/** A topic that brings nothing for this long is at its end. */
const QUIET_MS = 2000;

const streamIds = await prepareTenants(settings.partitions);
await Promise.all(Array.from(streamIds, ([tenant, streamId]) => consumeTenant(tenant, streamId)));

async function consumeTenant(tenant: Tenant, streamId: number): Promise<void> {
  const username = `tenant-${tenant.number}-consumer`;
  await prepareUser(username, streamId, { pollMessages: true, readTopics: true });
  if (settings.ensureAccess) await ensureIsolation(username, tenant);
  const members = TOPICS.flatMap((topic) => Array.from({ length: settings.consumers }, () => topic));
  await Promise.all(members.map((topic) => consumeTopic(username, tenant, topic)));
}

/** A member of a group is a session, so every member has a connection of its own. */
async function consumeTopic(username: string, tenant: Tenant, topic: string): Promise<void> {
  await using client = await signInAs(username);
  const atEnd = new AbortController();
  const quiet = setTimeout(() => {
    atEnd.abort();
  }, QUIET_MS);
  await using consumer = client.consumerGroup({
    name: "readers",
    streamId: tenant.stream,
    topicId: topic,
    pollOptions: { maxWait: 500, commit: CommitPolicy.Auto() },
    signal: atEnd.signal,
  });
  let count = 0;
  for await (const { message } of consumer) {
    quiet.refresh();
    if (message.headers.offset === 0n) console.log(`${tenant.stream}, ${topic}: "${message.text()}"`);
    count += 1;
  }
  console.log(`${username} consumed ${count} messages of ${tenant.stream}, topic ${topic}.`);
}

async function ensureIsolation(username: string, tenant: Tenant): Promise<void> {
  await using client = await signInAs(username);
  for (const other of tenants.filter((other) => other !== tenant)) {
    const intrusion = client.message.poll({
      streamId: other.stream,
      topicId: "events",
      partitionId: 0,
      consumer: Consumer.Single,
      pollingStrategy: PollingStrategy.First,
      options: { count: 1 },
    });
    await expectRefusal(`${username} polls ${other.stream}`, intrusion);
  }
}
