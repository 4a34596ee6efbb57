import { keysOf } from "../codec/keys.js";
import { ErrorCode, type ErrorEntry, errorEntry } from "./table.js";

/**
 * What an SDK does by itself.
 *
 * - `safe`: nothing was admitted; the same request goes out again
 * - `relink`: the transport failed; safe before the frame left, ambiguous for a write after it left
 * - `ambiguous`: it may have taken effect; only a replay of the same request in the same session is safe
 * - `new_request`: this request is spent; one with a new id may follow
 * - `sign_in`: bind the session again, or sign in
 * - `settle`: the outcome is unknown and retained; the caller resolves or abandons it
 * - `never`: the caller gets it
 */
export type RetryClass = "safe" | "relink" | "ambiguous" | "new_request" | "sign_in" | "settle" | "never";

const retryClasses: Readonly<Record<Exclude<RetryClass, "never">, readonly number[]>> = {
  safe: [
    ErrorCode.TransientNotAccepted,
    ErrorCode.NotConnected,
    ErrorCode.NotPrimary,
    ErrorCode.DeferredPollCapacityExceeded,
  ],
  relink: [
    ErrorCode.Disconnected,
    ErrorCode.CannotEstablishConnection,
    ErrorCode.TcpError,
    ErrorCode.QuicError,
    ErrorCode.ConnectionClosed,
    ErrorCode.EmptyResponse,
    ErrorCode.WebSocketError,
    ErrorCode.WebSocketConnectionError,
    ErrorCode.WebSocketReceiveError,
    ErrorCode.WebSocketSendError,
    ErrorCode.CannotSendMessagesDueToClientDisconnection,
  ],
  ambiguous: [ErrorCode.TransientNotCommitted],
  new_request: [
    ErrorCode.HistoryUnavailable,
    ErrorCode.LifecycleBusy,
    ErrorCode.ProducerUnknown,
    ErrorCode.PartitionHistoryChanged,
    ErrorCode.ConsumerGroupPartitionNotOwned,
  ],
  sign_in: [
    ErrorCode.StaleClient,
    ErrorCode.Unauthenticated,
    ErrorCode.AccessTokenMissing,
    ErrorCode.InvalidAccessToken,
  ],
  settle: [
    ErrorCode.OperationUncertain,
    ErrorCode.LaneBlocked,
    ErrorCode.PartitionLaneBlocked,
    ErrorCode.FetchProgressUncertain,
  ],
};

/**
 * Statuses of HTTP answers; everything else is 400. The split of 503 and 504 carries weight: a client resends a write
 * that got 503 and never one that got 504, so an unknown outcome must not be 503.
 */
const httpStatuses: Readonly<Record<number, readonly number[]>> = {
  401: [
    ErrorCode.Unauthenticated,
    ErrorCode.InvalidPersonalAccessToken,
    ErrorCode.AccessTokenMissing,
    ErrorCode.InvalidAccessToken,
  ],
  403: [ErrorCode.Unauthorized],
  404: [
    ErrorCode.ResourceNotFound,
    ErrorCode.ClientNotFound,
    ErrorCode.StreamIdNotFound,
    ErrorCode.StreamNameNotFound,
    ErrorCode.TopicIdNotFound,
    ErrorCode.TopicNameNotFound,
    ErrorCode.PartitionNotFound,
    ErrorCode.ConsumerOffsetNotFound,
    ErrorCode.SegmentNotFound,
    ErrorCode.ConsumerGroupIdNotFound,
    ErrorCode.ConsumerGroupNameNotFound,
    ErrorCode.ConsumerGroupMemberNotFound,
  ],
  503: [
    ErrorCode.CannotEstablishConnection,
    ErrorCode.TransientNotAccepted,
    ErrorCode.NotPrimary,
    ErrorCode.DeferredPollCapacityExceeded,
  ],
  504: [ErrorCode.TransientNotCommitted],
};

/** Which field of a request an HTTP error body blames. */
const httpFields: Readonly<Record<string, readonly number[]>> = {
  stream_id: [ErrorCode.StreamIdNotFound, ErrorCode.InvalidStreamId],
  topic_id: [ErrorCode.TopicIdNotFound, ErrorCode.InvalidTopicId],
  partition_id: [ErrorCode.PartitionNotFound],
  segment_id: [ErrorCode.SegmentNotFound],
  client_id: [ErrorCode.ClientNotFound],
  name: [
    ErrorCode.PersonalAccessTokenAlreadyExists,
    ErrorCode.StreamNameAlreadyExists,
    ErrorCode.InvalidStreamName,
    ErrorCode.TopicNameAlreadyExists,
    ErrorCode.InvalidTopicName,
    ErrorCode.ConsumerGroupNameAlreadyExists,
  ],
  offset: [ErrorCode.InvalidOffset],
  consumer_group_id: [ErrorCode.InvalidConsumerGroupId],
  username: [ErrorCode.UserAlreadyExists],
};

const inverted = <V>(lists: Iterable<[V, readonly number[]]>): ReadonlyMap<number, V> =>
  new Map([...lists].flatMap(([value, codes]) => codes.map((code): [number, V] => [code, value])));

const retryByCode = inverted<RetryClass>(keysOf(retryClasses).map((retry) => [retry, retryClasses[retry]]));
const statusByCode = inverted<number>(
  Object.entries(httpStatuses).map(([status, codes]): [number, readonly number[]] => [Number(status), codes]),
);
const fieldByCode = inverted<string>(Object.entries(httpFields));

export interface ErrorInfo extends ErrorEntry {
  readonly retry: RetryClass;
  readonly httpStatus: number;
  readonly httpField: string | null;
}

/** Everything that is known of an error. A number that this release does not know reads as 1, `error`. */
export function errorInfo(code: number): ErrorInfo {
  const entry = errorEntry(code);
  return {
    ...entry,
    retry: retryByCode.get(entry.code) ?? "never",
    httpStatus: statusByCode.get(entry.code) ?? 400,
    httpField: fieldByCode.get(entry.code) ?? null,
  };
}
