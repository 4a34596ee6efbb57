import {
  empty,
  ENCRYPTION_KEY_SIZE,
  fixedBytes,
  list,
  mapped,
  optional,
  restBytes,
  str8,
  strictBool,
  struct,
  u128,
  u32,
  u64,
} from "@iggy/protocol";
import { call } from "./calls.js";

/** A whole number below 2^53. */
const count = mapped(u64, Number, BigInt);

const address = struct("partition", {
  streamId: u32,
  topicId: u32,
  partitionId: u32,
});

/** Which of these groups were served something in a partition that they have not committed. */
export const inFlight = call(
  1,
  "progress of consumer groups",
  list(u32, struct("group in a partition", { address, groupId: u32 })),
  list(u32, strictBool),
);

/** Last offset that a deletion of so many segments reaches, none when there is nothing to delete. */
export const deletableThrough = call(
  2,
  "resolution of segments",
  struct("segments", { address, incarnation: count, segmentsCount: u32 }),
  struct("offset", {
    isKnown: strictBool,
    throughOffset: optional(strictBool, count),
  }),
);

export const retireSessions = call(
  3,
  "retirement of sessions",
  list(
    u32,
    struct("ended session", {
      client: u128,
      session: count,
      metadataWatermark: count,
    }),
  ),
  empty,
);

/** Sessions that the shard's connections heard of, and how long ago. */
export const heardSessions = call(
  4,
  "sessions heard of",
  empty,
  list(u32, struct("session heard of", { client: u128, silentMillis: count })),
);

const connection = struct("connection", {
  id: u32,
  transport: u32,
  address: str8,
  binding: optional(strictBool, struct("binding", { client: u128, session: count, userId: u32 })),
});

/** The connections of the shard. */
export const listConnections = call(5, "connections", empty, list(u32, connection));

/** A group gave back everything that it was served in a partition of the caller. */
export const groupDrained = call(6, "progress of a group", empty, empty);

/** Opens, or fences, every partition that metadata gives the shard. */
export const startPartitions = call(7, "start of partitions", empty, empty);

/** Refuses what waits and takes no more. */
export const drain = call(8, "drain", empty, empty);

/** Requests that connections of the shard have under way. */
export const requestsInFlight = call(9, "requests in flight", empty, count);

/** Ends the connections once what is queued for them is sent. */
export const endConnections = call(10, "end of connections", empty, empty);

/** Writes everything of the partitions to stable storage and closes them. */
export const closePartitions = call(11, "close of partitions", empty, empty);

/** Waits until the connections are gone, and cuts off those that are not in time. */
export const closeConnections = call(12, "close of connections", struct("grace", { graceMillis: u32 }), empty);

/** A command about the node, from a connection of another shard. Status 0 comes with the payload. */
export const nodeRead = call(
  13,
  "read about the node",
  struct("node query", { code: u32, userId: u32, connection, body: restBytes }),
  struct("node answer", { status: u32, payload: restBytes }),
);

/** The key of an encrypted stream, or the code that refuses its partitions; neither for a plain one. */
export const openKey = call(
  14,
  "key of a stream",
  struct("stream", { streamId: u32 }),
  struct("opened key", {
    refusal: u32,
    key: optional(strictBool, fixedBytes(ENCRYPTION_KEY_SIZE)),
  }),
);
