import { ErrorCode, IggyError } from "@iggy/protocol";

/** Code for a read that the storage could not serve: damage by its checksum, everything else as a read fault. */
export function readFailureCode(error: unknown): number {
  if (!(error instanceof IggyError)) return ErrorCode.CannotReadMessage;
  switch (error.code) {
    case ErrorCode.InvalidBatchChecksum:
    case ErrorCode.InvalidMessageChecksum:
      return error.code;
    default:
      return ErrorCode.CannotReadMessage;
  }
}
