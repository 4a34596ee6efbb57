import { IggyError } from "../errors/iggy-error.js";
import { ErrorCode } from "../errors/table.js";

/** What can be wrong with bytes. A server answers each with `InvalidCommand` (3) unless the command says otherwise. */
export type WireErrorKind =
  | "UnexpectedEof"
  | "InvalidUtf8"
  | "UnknownDiscriminant"
  | "PayloadTooLarge"
  | "Validation"
  | "TrailingBytes"
  | "InvalidBatchChecksum"
  | "InvalidMessageChecksum"
  | "InvalidMessageTimestampDelta";

const codes: Record<WireErrorKind, number> = {
  UnexpectedEof: ErrorCode.InvalidCommand,
  InvalidUtf8: ErrorCode.InvalidCommand,
  UnknownDiscriminant: ErrorCode.InvalidCommand,
  PayloadTooLarge: ErrorCode.InvalidCommand,
  Validation: ErrorCode.InvalidCommand,
  TrailingBytes: ErrorCode.InvalidCommand,
  InvalidBatchChecksum: ErrorCode.InvalidBatchChecksum,
  InvalidMessageChecksum: ErrorCode.InvalidMessageChecksum,
  InvalidMessageTimestampDelta: ErrorCode.InvalidMessageTimestampDelta,
};

/** The only error that decoding or encoding throws. `offset` counts from the first byte of the decoded input. */
export class WireError extends IggyError {
  readonly kind: WireErrorKind;
  readonly offset: number | undefined;

  /** What was wrong, without the offset that `message` adds. */
  private readonly fault: string;

  constructor(kind: WireErrorKind, fault: string, offset?: number, code = codes[kind]) {
    super(code, offset === undefined ? fault : `${fault} (at byte ${String(offset)})`);
    this.kind = kind;
    this.offset = offset;
    this.fault = fault;
  }

  /** The same fault under the code that a command reports for it. */
  withCode(code: number): WireError {
    return new WireError(this.kind, this.fault, this.offset, code);
  }
}
