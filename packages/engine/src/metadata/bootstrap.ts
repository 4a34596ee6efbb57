import { createUser, encode, type GlobalPermissions, noPermissions, Operation, UserStatus } from "@iggy/protocol";
import type { ServerOperation } from "./housekeeping.js";

const everything: GlobalPermissions = {
  ...noPermissions.global,
  manageServers: true,
  readServers: true,
  manageUsers: true,
  readUsers: true,
  manageStreams: true,
  readStreams: true,
  manageTopics: true,
  readTopics: true,
  pollMessages: true,
  sendMessages: true,
};

/**
 * The first operation of a history: it creates the root user, who gets id 0, and its checksum names the history.
 * `passwordHash` is a PHC string.
 */
export const bootstrap = (username: string, passwordHash: string): ServerOperation => ({
  operation: Operation.CreateUser,
  client: 0n,
  session: 0,
  body: encode(createUser.request, {
    username,
    password: passwordHash,
    status: UserStatus.active,
    permissions: { global: everything, streams: [] },
    options: [],
  }),
});
