import type { AnyCommand } from "./command.js";
import { bindSession } from "./bind-session.js";
import { cancelDeferredRequest } from "./cancel-deferred-request.js";
import { changePassword } from "./change-password.js";
import { createConsumerGroup } from "./create-consumer-group.js";
import { createPartitions } from "./create-partitions.js";
import { createPersonalAccessToken } from "./create-personal-access-token.js";
import { createStream } from "./create-stream.js";
import { createTopic } from "./create-topic.js";
import { createUser } from "./create-user.js";
import { deleteConsumerGroup } from "./delete-consumer-group.js";
import { deleteConsumerOffset } from "./delete-consumer-offset.js";
import { deletePartitions } from "./delete-partitions.js";
import { deletePersonalAccessToken } from "./delete-personal-access-token.js";
import { deleteSegments } from "./delete-segments.js";
import { deleteStream } from "./delete-stream.js";
import { deleteTopic } from "./delete-topic.js";
import { deleteUser } from "./delete-user.js";
import { describeOptions } from "./describe-options.js";
import { fetchMessages } from "./fetch-messages.js";
import { getClient } from "./get-client.js";
import { getClients } from "./get-clients.js";
import { getClusterMetadata } from "./get-cluster-metadata.js";
import { getConsumerGroup } from "./get-consumer-group.js";
import { getConsumerGroups } from "./get-consumer-groups.js";
import { getConsumerOffset } from "./get-consumer-offset.js";
import { getMe } from "./get-me.js";
import { getMetadataChanges } from "./get-metadata-changes.js";
import { getPartitionRoute } from "./get-partition-route.js";
import { getPersonalAccessTokens } from "./get-personal-access-tokens.js";
import { getSnapshot } from "./get-snapshot.js";
import { getStats } from "./get-stats.js";
import { getStream } from "./get-stream.js";
import { getStreams } from "./get-streams.js";
import { getTopic } from "./get-topic.js";
import { getTopics } from "./get-topics.js";
import { getUser } from "./get-user.js";
import { getUsers } from "./get-users.js";
import { joinConsumerGroup } from "./join-consumer-group.js";
import { leaveConsumerGroup } from "./leave-consumer-group.js";
import { loginRegister } from "./login-register.js";
import { loginRegisterWithPat } from "./login-register-with-pat.js";
import { loginUser } from "./login-user.js";
import { loginWithPersonalAccessToken } from "./login-with-personal-access-token.js";
import { logoutUser } from "./logout-user.js";
import { ping } from "./ping.js";
import { pollMessages } from "./poll-messages.js";
import { pollMessagesDeferred } from "./poll-messages-deferred.js";
import { sendMessages } from "./send-messages.js";
import { storeConsumerOffset } from "./store-consumer-offset.js";
import { syncConsumerGroup } from "./sync-consumer-group.js";
import { updatePermissions } from "./update-permissions.js";
import { updateResource } from "./update-resource.js";

/** Every command, in the order of the protocol's registry. Tools that keep arrays per command rely on it. */
export const commands: readonly AnyCommand[] = [
  ping,
  getStats,
  getSnapshot,
  getClusterMetadata,
  getMe,
  getClient,
  getClients,
  getUser,
  getUsers,
  createUser,
  deleteUser,
  updatePermissions,
  changePassword,
  loginUser,
  logoutUser,
  loginRegister,
  getPersonalAccessTokens,
  createPersonalAccessToken,
  deletePersonalAccessToken,
  loginWithPersonalAccessToken,
  pollMessages,
  sendMessages,
  getConsumerOffset,
  storeConsumerOffset,
  deleteConsumerOffset,
  getStream,
  getStreams,
  createStream,
  deleteStream,
  getTopic,
  getTopics,
  createTopic,
  deleteTopic,
  createPartitions,
  deletePartitions,
  deleteSegments,
  getConsumerGroup,
  getConsumerGroups,
  createConsumerGroup,
  deleteConsumerGroup,
  joinConsumerGroup,
  leaveConsumerGroup,
  syncConsumerGroup,
  loginRegisterWithPat,
  describeOptions,
  bindSession,
  getPartitionRoute,
  updateResource,
  getMetadataChanges,
  pollMessagesDeferred,
  cancelDeferredRequest,
  fetchMessages,
];

/** Codes that had a command once and are never used again, with what it did. A server answers them like unknown ones. */
export const retiredCommands: ReadonlyMap<number, string> = new Map([
  [14, "retired"],
  [35, "update user"],
  [102, "flush unsaved buffer"],
  [103, "poll routing"],
  [104, "poll on primary"],
  [107, "wait for messages"],
  [123, "offset routing"],
  [124, "retired"],
  [204, "update stream"],
  [205, "purge stream"],
  [304, "update topic"],
  [305, "purge topic"],
]);

const byCode = new Map(commands.map((command) => [command.code, command]));

// Register is shared by two commands and NonReplicated by all reads: those numbers name no command.
const byOperation = new Map(
  commands
    .filter(({ operation }) => commands.filter((other) => other.operation === operation).length === 1)
    .map((command) => [command.operation, command]),
);

export const commandByCode = (code: number): AnyCommand | undefined => byCode.get(code);

/** The command of a replicated operation (or of a logout). */
export const commandByOperation = (operation: number): AnyCommand | undefined => byOperation.get(operation);
