import { ErrorCode } from "@iggy/protocol";

/** What a caller can do about an error, where the code alone tells it. */
const hints: Readonly<Record<number, string>> = {
  [ErrorCode.FeatureUnavailable]: "Another transport or kind of consumer offers this.",
  [ErrorCode.Disconnected]: "Call connect() or sign in again.",
  [ErrorCode.InvalidIpAddress]: "Give host:port, an IPv6 address in brackets.",
  [ErrorCode.Unauthenticated]: "Sign in with session.login(), or give the client credentials.",
  [ErrorCode.Unauthorized]: "Ask for the permission on this resource.",
  [ErrorCode.InvalidCredentials]: "Check the username and the password.",
  [ErrorCode.TransientNotCommitted]: "A read can be repeated. The outcome of a write is unknown.",
  [ErrorCode.TransientNotAccepted]: "Nothing was done; the same call can be made again.",
  [ErrorCode.NotConnected]: "Call connect() or sign in.",
  [ErrorCode.ClientShutdown]: "The client was closed for good; make a new one.",
  [ErrorCode.InvalidSizeBytes]: "Raise maxBytes, or send smaller batches.",
  [ErrorCode.HistoryUnavailable]: "The partition was deleted or created again; start from a fresh position.",
  [ErrorCode.ProducerEpochFenced]: "Another producer took over this producer id.",
  [ErrorCode.StreamIdNotFound]: "Create the stream first, or check its id.",
  [ErrorCode.StreamNameNotFound]: "Create the stream first, or check its name.",
  [ErrorCode.TopicIdNotFound]: "Create the topic first, or check its id.",
  [ErrorCode.TopicNameNotFound]: "Create the topic first, or check its name.",
  [ErrorCode.PartitionNotFound]: "Check the number of partitions of the topic.",
  [ErrorCode.ProducerClosed]: "The producer was closed; make a new one.",
  [ErrorCode.ConsumerGroupMemberNotFound]: "Join the group first.",
  [ErrorCode.ConsumerGroupPartitionNotOwned]: "The group gave this partition to another member.",
  [ErrorCode.InvalidConnectionString]: "Credentials can be given apart from the string, in the options object.",
  [ErrorCode.IncompatibleProtocolVersion]: "Use a client and a server of the same protocol version.",
  [ErrorCode.OperationUncertain]:
    "Call operation.resolve() to learn the outcome, or operation.abandon() to go on without it.",
  [ErrorCode.LaneBlocked]: "Resolve or abandon the named operation first.",
  [ErrorCode.PartitionLaneBlocked]: "Abandon the named operation first.",
  [ErrorCode.FetchProgressUncertain]: "Call operation.abandon() to go on; messages of this read may be skipped.",
};

export function hintFor(code: number): string | undefined {
  return hints[code];
}
