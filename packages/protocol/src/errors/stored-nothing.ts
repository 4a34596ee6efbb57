import { ErrorCode } from "./table.js";

/** A read that stores the offset as it reads, or one section of such a fetch. */
export type CommittingRead = "request" | "section";

const sectionProofs: readonly number[] = [
  ErrorCode.TransientNotAccepted,
  ErrorCode.InvalidSizeBytes,
  ErrorCode.HistoryUnavailable,
  ErrorCode.NotPrimary,
  ErrorCode.PartitionNotFound,
  ErrorCode.TooManyConsumerOffsets,
  ErrorCode.ConsumerGroupPartitionNotOwned,
];

const proofs: Readonly<Record<CommittingRead, ReadonlySet<number>>> = {
  section: new Set(sectionProofs),
  request: new Set([
    ...sectionProofs,
    ErrorCode.FeatureUnavailable,
    ErrorCode.InvalidIdentifier,
    ErrorCode.DeferredPollCapacityExceeded,
    ErrorCode.StreamIdNotFound,
    ErrorCode.StreamNameNotFound,
    ErrorCode.TopicIdNotFound,
    ErrorCode.TopicNameNotFound,
    ErrorCode.InvalidOffset,
  ]),
};

/**
 * Whether an error proves that a committing read stored no offset. Missing credentials and rights do not: a server
 * checks them again after the read.
 */
export const provesNothingStored = (code: number, scope: CommittingRead): boolean => proofs[scope].has(code);
