import {
  describeOptions,
  getConsumerGroup,
  getConsumerGroups,
  getMetadataChanges,
  getPersonalAccessTokens,
  getStream,
  getStreams,
  getTopic,
  getTopics,
  getUser,
  getUsers,
  syncConsumerGroup,
} from "@iggy/protocol";
import { readChanges } from "./changes.js";
import { readAssignment, readGroup, readGroups } from "./groups.js";
import { readCatalogue } from "./options.js";
import type { Read } from "./read.js";
import { readStream, readStreams } from "./streams.js";
import { readTopic, readTopics } from "./topics.js";
import { readTokens, readUser, readUsers } from "./users.js";

/** Read commands that metadata answers, by command code. */
export const reads: ReadonlyMap<number, Read> = new Map<number, Read>([
  [describeOptions.code, readCatalogue],
  [getMetadataChanges.code, readChanges],
  [getUser.code, readUser],
  [getUsers.code, readUsers],
  [getPersonalAccessTokens.code, readTokens],
  [getStream.code, readStream],
  [getStreams.code, readStreams],
  [getTopic.code, readTopic],
  [getTopics.code, readTopics],
  [getConsumerGroup.code, readGroup],
  [getConsumerGroups.code, readGroups],
  [syncConsumerGroup.code, readAssignment],
]);
