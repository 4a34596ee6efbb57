import { headed, str32, struct, u32, u8, type ValueOf } from "../../codec/index.js";

/**
 * A connection of the answering node. `clientId` is a short number of the connection, not the client id of its session;
 * `userId` is `NO_USER_ID` before sign-in; `transport` is a `ClientTransport` code, others read as unknown.
 *
 *    0  client_id             u32
 *    4  user_id               u32
 *    8  transport             u8
 *    9  address               [u32][UTF-8], ip:port
 *    …  consumer_groups_count u32
 */
export const client = struct("client", {
  clientId: u32,
  userId: u32,
  transport: u8,
  address: str32,
  consumerGroupsCount: u32,
});
export type Client = ValueOf<typeof client>;

/** `[stream_id u32][topic_id u32][group_id u32]` */
export const groupMembership = struct("group membership", { streamId: u32, topicId: u32, groupId: u32 });
export type GroupMembership = ValueOf<typeof groupMembership>;

/** A client, then one membership for each of its groups. */
export const clientDetails = headed(
  "client details",
  "client",
  client,
  "consumerGroupsCount",
  "consumerGroups",
  groupMembership,
);
export type ClientDetails = ValueOf<typeof clientDetails>;
