import { bytes32, type Codec, list, listToEnd, lossyStr32, name, struct, u32, u8 } from "../../codec/index.js";
import type { Command } from "../../commands/command.js";
import { createStream } from "../../commands/create-stream.js";
import { createTopic } from "../../commands/create-topic.js";
import { createUser } from "../../commands/create-user.js";
import { describeOptions } from "../../commands/describe-options.js";
import { getClusterMetadata } from "../../commands/get-cluster-metadata.js";
import { getStats } from "../../commands/get-stats.js";
import { getStream } from "../../commands/get-stream.js";
import { getStreams } from "../../commands/get-streams.js";
import { getTopic } from "../../commands/get-topic.js";
import { getTopics } from "../../commands/get-topics.js";
import { getUser } from "../../commands/get-user.js";
import { getUsers } from "../../commands/get-users.js";
import { figures } from "../../commands/records/stats.js";
import { legacyClusterMetadata } from "../records/cluster.js";
import {
  legacyStream,
  legacyStreamDetails,
  legacyTopic,
  legacyTopicDetails,
  legacyUser,
  legacyUserDetails,
} from "../records/resources.js";

/** Commands whose requests are those of 0.12.2 and whose replies have an earlier form. */
const withReply = <Req, Res extends object>(base: Command<Req, unknown>, response: Codec<Res>): Command<Req, Res> => ({
  ...base,
  response,
});
/** The same where an empty reply means "none". */
const withReplyOrNone = <Req, Res extends object>(
  base: Command<Req, unknown>,
  response: Codec<Res>,
): Command<Req, Res | null> => ({ ...base, response });

/** Ends after `total_disk_space`; a 0.11 client ignores what follows. */
export const legacyGetStats = withReply(getStats, struct("stats of 0.11", figures));
/** Nodes without replica ids. */
export const legacyGetClusterMetadata = withReply(getClusterMetadata, legacyClusterMetadata);
/** Descriptors without flags. */
export const legacyDescribeOptions = withReply(
  describeOptions,
  struct("DescribeOptions reply of 0.11", {
    entries: list(
      u32,
      struct("option descriptor of 0.11", { key: name, kind: u8, defaultValue: bytes32, description: lossyStr32 }),
    ),
  }),
);
export const legacyGetStream = withReplyOrNone(getStream, legacyStreamDetails);
export const legacyGetStreams = withReply(getStreams, struct("Streams of 0.11", { streams: listToEnd(legacyStream) }));
export const legacyCreateStream = withReply(createStream, legacyStream);
export const legacyGetTopic = withReplyOrNone(getTopic, legacyTopicDetails);
export const legacyGetTopics = withReply(getTopics, struct("Topics of 0.11", { topics: list(u32, legacyTopic) }));
export const legacyCreateTopic = withReply(createTopic, legacyTopicDetails);
export const legacyGetUser = withReplyOrNone(getUser, legacyUserDetails);
export const legacyGetUsers = withReply(getUsers, struct("Users of 0.11", { users: listToEnd(legacyUser) }));
export const legacyCreateUser = withReply(createUser, legacyUserDetails);
