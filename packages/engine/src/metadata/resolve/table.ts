import {
  createConsumerGroup,
  deleteConsumerGroup,
  deleteStream,
  deleteTopic,
  deleteUser,
  ErrorCode,
  Operation,
  updatePermissions,
} from "@iggy/protocol";
import type { MetadataConfig } from "../config.js";
import type { MetadataState } from "../state/state.js";
import { resolveJoinGroup, resolveLeaveGroup } from "./groups.js";
import { resolveCreatePartitions, resolveDeletePartitions, resolveDeleteSegments } from "./partitions.js";
import type { ClientRequest, Resolution, ResolveInputs } from "./resolution.js";
import { asSent, deny, ResolveContext, type Resolver } from "./resolver.js";
import { resolveCreateStream } from "./streams.js";
import { resolveCreateTopic } from "./topics.js";
import { resolveUpdateResource } from "./update-resource.js";
import { resolveChangePassword, resolveCreateToken, resolveCreateUser, resolveDeleteToken } from "./users.js";

/** How the operations that a client may send become operations of the log. */
const resolvers: ReadonlyMap<number, Resolver> = new Map<number, Resolver>([
  [Operation.Logout, () => ({ kind: "propose", operation: Operation.Logout, body: new Uint8Array(0) })],
  [Operation.CreateStream, resolveCreateStream],
  [Operation.DeleteStream, asSent(deleteStream)],
  [Operation.CreateTopic, resolveCreateTopic],
  [Operation.DeleteTopic, asSent(deleteTopic)],
  [Operation.CreatePartitions, resolveCreatePartitions],
  [Operation.DeletePartitions, resolveDeletePartitions],
  [Operation.DeleteSegments, resolveDeleteSegments],
  [Operation.CreateConsumerGroup, asSent(createConsumerGroup)],
  [Operation.DeleteConsumerGroup, asSent(deleteConsumerGroup)],
  [Operation.JoinConsumerGroup, resolveJoinGroup],
  [Operation.LeaveConsumerGroup, resolveLeaveGroup],
  [Operation.CreateUser, resolveCreateUser],
  [Operation.DeleteUser, asSent(deleteUser)],
  [Operation.UpdatePermissions, asSent(updatePermissions)],
  [Operation.ChangePassword, resolveChangePassword],
  [Operation.CreatePersonalAccessToken, resolveCreateToken],
  [Operation.DeletePersonalAccessToken, resolveDeleteToken],
  [Operation.UpdateResource, resolveUpdateResource],
]);

/**
 * Settles everything about a request that is not a function of the log: defaults, placement, hashes, random texts,
 * offsets. Malformed bodies, static bounds and options are refused here; what depends on the state is refused when the
 * operation is applied, save where this node's own limits or the cost of a hash decide. A client sees both alike.
 */
export function resolveRequest(
  state: MetadataState,
  config: MetadataConfig,
  request: ClientRequest,
  inputs: ResolveInputs,
): Resolution | Promise<Resolution> {
  const user = state.users.get(request.userId);
  if (user === undefined) return deny(ErrorCode.Unauthenticated);
  const resolver = resolvers.get(request.operation);
  if (resolver === undefined) return deny(ErrorCode.InvalidCommand);
  return resolver(new ResolveContext(state, config, inputs, request, user), request.body);
}
