export { ackLevel, type AckLevel } from "./ack-level.js";
export { consumer, type Consumer } from "./consumer.js";
export { consumerGroupOwner, type ConsumerGroupOwner } from "./consumer-group-owner.js";
export * from "./identifier.js";
export * from "./option-block.js";
export * from "./option-value.js";
export { partitionContext, type PartitionContext } from "./partition-context.js";
export { partitionGroup, type PartitionNumbers } from "./partition-group.js";
export { partitioning, type Partitioning } from "./partitioning.js";
export { partitionStatus, partitionStatuses, type PartitionStatus } from "./partition-status.js";
export {
  type GlobalPermissions,
  noPermissions,
  permissions,
  type Permissions,
  type StreamPermissions,
  type TopicPermissions,
} from "./permissions.js";
export { isGranted, type Right, rightNames } from "./permission-rules.js";
export { pollingStrategy, type PollingStrategy } from "./polling-strategy.js";
export { resetKeys } from "./reset-keys.js";
export { sessionIdentity, type SessionIdentity } from "./session-identity.js";
export * from "./version.js";
