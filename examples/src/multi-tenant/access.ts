import { type Client, connect, UnauthorizedError } from "@iggy/sdk";
import { rootUrl, serverAddress } from "../server-address.js";
import { PASSWORD, type Tenant, tenants, TOPICS } from "./settings.js";

/** What a user may do in the stream of its tenant. It may do nothing elsewhere. */
export interface Grants {
  readonly sendMessages?: boolean;
  readonly pollMessages?: boolean;
  readonly readTopics?: boolean;
}

/** Makes the streams and topics of every tenant when they are missing. Resolves to the ids of the streams. */
export async function prepareTenants(partitionCount: number): Promise<Map<Tenant, number>> {
  await using root = await connect(rootUrl);
  const streamIds = new Map<Tenant, number>();
  for (const tenant of tenants) {
    const stream = await root.stream.ensure(tenant.stream);
    streamIds.set(tenant, stream.id);
    for (const topic of TOPICS) await root.topic.ensure(tenant.stream, topic, partitionCount);
  }
  return streamIds;
}

/** Makes the user when it is missing, and grants it exactly this. */
export async function prepareUser(username: string, streamId: number, grants: Grants): Promise<void> {
  await using root = await connect(rootUrl);
  const permissions = { streams: [{ streamId, ...grants }] };
  if ((await root.user.get({ userId: username })) === null) {
    await root.user.create({ username, password: PASSWORD, permissions });
  } else {
    await root.user.updatePermissions({ userId: username, permissions });
  }
}

export function signInAs(username: string): Promise<Client> {
  return connect(`iggy+tcp://${username}:${PASSWORD}@${serverAddress}`);
}

/** Fails unless the server refuses `call` for lack of a permission. */
export async function expectRefusal(what: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    console.log(`Refused, as it should be: ${what}.`);
    return;
  }
  throw new Error(`the server lets ${what}`);
}
