import { ErrorCode, IggyError } from "../errors/index.js";

/** What can be wrong with the header of a frame. */
export type FrameErrorKind =
  /** Fewer bytes than a header, or a size that the header's kind does not allow. */
  | "InvalidSize"
  /** Larger than the receiver's limit. */
  | "TooLarge"
  /** A command byte above the last known one. */
  | "UnknownCommand"
  /** A known command in the wrong place. */
  | "InvalidCommand"
  /** An operation, reason, outcome or kind byte that has no meaning. */
  | "UnknownDiscriminant"
  /** A field outside its rule. */
  | "InvalidField"
  /** The stored checksum is not that of the bytes. */
  | "ChecksumMismatch";

/** A malformed frame header. Its code is `InvalidCommand` (3), which a server answers where a reply is possible. */
export class FrameError extends IggyError {
  readonly kind: FrameErrorKind;

  constructor(kind: FrameErrorKind, message: string) {
    super(ErrorCode.InvalidCommand, message);
    this.kind = kind;
  }
}
