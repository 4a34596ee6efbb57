import { IggyError } from "../errors/iggy-error.js";

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
  UnexpectedEof: 3,
  InvalidUtf8: 3,
  UnknownDiscriminant: 3,
  PayloadTooLarge: 3,
  Validation: 3,
  TrailingBytes: 3,
  InvalidBatchChecksum: 4039,
  InvalidMessageChecksum: 4027,
  InvalidMessageTimestampDelta: 4038,
};

/** The only error that decoding or encoding throws. `offset` counts from the first byte of the decoded input. */
export class WireError extends IggyError {
  readonly kind: WireErrorKind;
  readonly offset: number | undefined;

  constructor(kind: WireErrorKind, message: string, offset?: number, code = codes[kind]) {
    super(code, offset === undefined ? message : `${message} (at byte ${String(offset)})`);
    this.kind = kind;
    this.offset = offset;
  }
}
