import { ErrorCode } from "../errors/index.js";

/** A gap in the table of errors since 0.12. */
const UNASSIGNED = 86;

/** Numbers that 0.11 does not know: it reads each as `Error` (1), which is final and says nothing. */
const unknown = new Set<number>([
  ErrorCode.RequestTooOld,
  UNASSIGNED,
  ErrorCode.HistoryUnavailable,
  ErrorCode.LifecycleBusy,
  ErrorCode.NotPrimary,
  ErrorCode.DeferredPollCapacityExceeded,
  ErrorCode.ProducerIdsExhausted,
  ErrorCode.ProducerSequenceOutOfOrder,
  ErrorCode.ProducerEpochFenced,
  ErrorCode.ProducerUnknown,
  ErrorCode.ProducerPartitionRequired,
  ErrorCode.PartitionsLimitReached,
  ErrorCode.PartitionResizeDisabled,
  ErrorCode.PartitionHistoryChanged,
  ErrorCode.OptionNotUpdatable,
  ErrorCode.OptionNotResettable,
  ErrorCode.ReadOnlyOption,
  ErrorCode.StreamEncryptionUnavailable,
  ErrorCode.UnsupportedCriticalOption,
  ErrorCode.CannotModifyRootUser,
  ErrorCode.TooManyConsumerGroups,
  ErrorCode.SessionMismatch,
  ErrorCode.RequestIdExhausted,
  ErrorCode.OperationUncertain,
  ErrorCode.LaneBlocked,
  ErrorCode.OperationNotRetained,
  ErrorCode.PartitionLaneBlocked,
  ErrorCode.FetchProgressUncertain,
]);

export const isKnownToLegacy = (code: number): boolean => !unknown.has(code);

/** What a 0.11 client can act on, in place of a number that it does not know. */
const substitutes = new Map<number, number>([
  [ErrorCode.NotPrimary, ErrorCode.TransientNotAccepted],
  [ErrorCode.LifecycleBusy, ErrorCode.TransientNotAccepted],
  // The server stamps the incarnation of a 0.11 request itself, so it only misses partitions that are going away.
  [ErrorCode.HistoryUnavailable, ErrorCode.PartitionNotFound],
  [ErrorCode.PartitionHistoryChanged, ErrorCode.PartitionNotFound],
  [ErrorCode.PartitionsLimitReached, ErrorCode.TooManyPartitions],
  [ErrorCode.PartitionResizeDisabled, ErrorCode.FeatureUnavailable],
  [ErrorCode.OptionNotUpdatable, ErrorCode.UnsupportedOptionKey],
  [ErrorCode.OptionNotResettable, ErrorCode.UnsupportedOptionKey],
  [ErrorCode.ReadOnlyOption, ErrorCode.UnsupportedOptionKey],
  [ErrorCode.CannotModifyRootUser, ErrorCode.Unauthorized],
]);

/** The code to send on a 0.11 connection. Receipts keep the true one: substitute when the reply is encoded. */
export const legacyErrorCode = (code: number): number => substitutes.get(code) ?? code;
