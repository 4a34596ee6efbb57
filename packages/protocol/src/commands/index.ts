export * from "./bind-session.js";
export * from "./cancel-deferred-request.js";
export * from "./change-password.js";
export * from "./command.js";
export * from "./create-consumer-group.js";
export * from "./create-partitions.js";
export * from "./create-personal-access-token.js";
export * from "./create-stream.js";
export * from "./create-topic.js";
export * from "./create-user.js";
export * from "./delete-consumer-group.js";
export * from "./delete-consumer-offset.js";
export * from "./delete-partitions.js";
export * from "./delete-personal-access-token.js";
export * from "./delete-segments.js";
export * from "./delete-stream.js";
export * from "./delete-topic.js";
export * from "./delete-user.js";
export * from "./describe-options.js";
export * from "./fetch-messages.js";
export * from "./get-client.js";
export * from "./get-clients.js";
export * from "./get-cluster-metadata.js";
export * from "./get-consumer-group.js";
export * from "./get-consumer-groups.js";
export * from "./get-consumer-offset.js";
export * from "./get-me.js";
export * from "./get-metadata-changes.js";
export * from "./get-partition-route.js";
export * from "./get-personal-access-tokens.js";
export * from "./get-snapshot.js";
export * from "./get-stats.js";
export * from "./get-stream.js";
export * from "./get-streams.js";
export * from "./get-topic.js";
export * from "./get-topics.js";
export * from "./get-user.js";
export * from "./get-users.js";
export * from "./join-consumer-group.js";
export * from "./leave-consumer-group.js";
export * from "./login-register.js";
export * from "./login-register-with-pat.js";
export * from "./login-user.js";
export * from "./login-with-personal-access-token.js";
export * from "./logout-user.js";
export * from "./ping.js";
export * from "./poll-messages.js";
export * from "./poll-messages-deferred.js";
export * from "./registry.js";
export * from "./result-section.js";
export * from "./send-messages.js";
export * from "./store-consumer-offset.js";
export * from "./sync-consumer-group.js";
export * from "./update-permissions.js";
export * from "./update-resource.js";
export * from "./records/client.js";
export * from "./records/cluster.js";
export * from "./records/consumer-group.js";
export * from "./records/fetch.js";
export { optionDescriptor, type OptionDescriptor, OptionFlag, optionScope } from "./records/option-descriptor.js";
export * from "./records/partition.js";
export {
  type DeferredPollRequest,
  deferredPollRequest,
  type PollReply,
  pollReply,
  type PollRequest,
  pollRequest,
} from "./records/poll.js";
export * from "./records/resource-patch.js";
export * from "./records/send.js";
export * from "./records/session-reply.js";
export * from "./records/stats.js";
export * from "./records/stream.js";
export { type GroupTarget, type StreamTarget, type TopicTarget, type UserTarget } from "./records/targets.js";
export * from "./records/topic.js";
export * from "./records/topic-details.js";
export * from "./records/user.js";
