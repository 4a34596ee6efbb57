import { getU128, putU128, putU32, putU8 } from "../codec/integers.js";
import { EvictionReason, evictionReasonName, FrameCommand } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";
import { FrameError } from "./frame-error.js";
import { HeaderView } from "./header-view.js";
import { wrongCommand } from "./request.js";
import { HEADER_SIZE } from "./size.js";
import { type CommonFields, startHeader } from "./write.js";

const VERSION_OFFSET = 144;
const VERSION_MIN_OFFSET = 148;
const RESERVED_OFFSET = 152;
const REASON_OFFSET = 255;

/**
 * Header of an eviction (command 13), after the common prefix. It answers no request and ends the connection.
 *
 *   128 client u128
 *   144 server_protocol_version u32, 148 server_protocol_version_min u32: only with IncompatibleProtocol
 *   152 103 zero bytes
 *   255 reason u8
 */
export class EvictionHeader extends HeaderView {
  get client(): bigint {
    return getU128(this.data, this.start + 128);
  }
  /** Highest protocol version that the server accepts, packed. */
  get serverProtocolVersion(): number {
    return this.data.getUint32(this.start + VERSION_OFFSET, true);
  }
  get serverProtocolVersionMin(): number {
    return this.data.getUint32(this.start + VERSION_MIN_OFFSET, true);
  }
  get reason(): number {
    return this.data.getUint8(this.start + REASON_OFFSET);
  }
}

export interface EvictionFields extends Omit<CommonFields, "bodyLength"> {
  readonly client: bigint;
  readonly reason: number;
  readonly serverProtocolVersion?: number;
  readonly serverProtocolVersionMin?: number;
}

/** Writes the 256 bytes of an eviction. */
export function writeEviction(bytes: Uint8Array, offset: number, fields: EvictionFields): void {
  const view = startHeader(bytes, offset, FrameCommand.Eviction, fields);
  putU128(view, 128, fields.client, "client");
  putU32(view, VERSION_OFFSET, fields.serverProtocolVersion ?? 0, "server protocol version");
  putU32(view, VERSION_MIN_OFFSET, fields.serverProtocolVersionMin ?? 0, "least server protocol version");
  putU8(view, REASON_OFFSET, fields.reason, "eviction reason");
}

/** The first broken rule of an eviction, or undefined. */
export function validateEvictionHeader(header: EvictionHeader): FrameError | undefined {
  if (header.command !== FrameCommand.Eviction) return wrongCommand(header.command, FrameCommand.Eviction);
  const reason = header.reason;
  if (evictionReasonName(reason) === undefined) {
    return new FrameError("UnknownDiscriminant", `${String(reason)} is no eviction reason`);
  }
  if (header.size !== HEADER_SIZE) {
    return new FrameError("InvalidSize", `an eviction has ${String(HEADER_SIZE)} bytes, not ${String(header.size)}`);
  }
  if (header.isZeroAt(128, 16)) return invalid("client is 0");
  if (header.release !== 0) return invalid("release is not 0");
  if (reason === EvictionReason.Reserved) return invalid("reason is 0");
  if (!header.isZeroAt(62, 66) || !header.isZeroAt(RESERVED_OFFSET, REASON_OFFSET - RESERVED_OFFSET)) {
    return invalid("reserved bytes are set");
  }
  const { serverProtocolVersion: highest, serverProtocolVersionMin: lowest } = header;
  if (reason === EvictionReason.IncompatibleProtocol) {
    if (lowest === 0 || highest < lowest) return invalid("the version window is empty");
  } else if (highest !== 0 || lowest !== 0) return invalid("a version window belongs to IncompatibleProtocol only");
  return undefined;
}

const invalid = (message: string): FrameError => new FrameError("InvalidField", message);

const clientErrors = new Map<number, number>([
  [EvictionReason.ClientReleaseTooLow, ErrorCode.InvalidCommand],
  [EvictionReason.ClientReleaseTooHigh, ErrorCode.InvalidCommand],
  [EvictionReason.InvalidRequestOperation, ErrorCode.InvalidCommand],
  [EvictionReason.InvalidRequestBody, ErrorCode.InvalidCommand],
  [EvictionReason.InvalidRequestBodySize, ErrorCode.InvalidCommand],
  [EvictionReason.InvalidCredentials, ErrorCode.InvalidCredentials],
  [EvictionReason.InvalidToken, ErrorCode.InvalidPersonalAccessToken],
  [EvictionReason.StaleClient, ErrorCode.StaleClient],
  [EvictionReason.IncompatibleProtocol, ErrorCode.IncompatibleProtocolVersion],
  [EvictionReason.MalformedLogin, ErrorCode.InvalidFormat],
]);

/**
 * Code of the error that a client reports for an eviction. A reason it does not know, and an IncompatibleProtocol whose
 * version window is empty, read as Unauthenticated (40).
 */
export function evictionErrorCode(reason: number, serverProtocolVersion = 0, serverProtocolVersionMin = 0): number {
  const emptyWindow = serverProtocolVersionMin === 0 || serverProtocolVersion < serverProtocolVersionMin;
  if (reason === EvictionReason.IncompatibleProtocol && emptyWindow) return ErrorCode.Unauthenticated;
  return clientErrors.get(reason) ?? ErrorCode.Unauthenticated;
}
