import { getU128, getU64, putU128, putU32, putU64, putU8 } from "../codec/integers.js";
import { FrameCommand, frameCommandName, isKnownOperation, Operation } from "../enums/index.js";
import { FrameError } from "./frame-error.js";
import { HeaderView } from "./header-view.js";
import { HEADER_SIZE } from "./size.js";
import { type CommonFields, startHeader } from "./write.js";

/**
 * Header of a request (command 5), after the common prefix.
 *
 *   128 client u128             176 operation u8         200 partition_incarnation u64
 *   144 request_checksum u128   184 session u64          208 owner_generation u64
 *   160 timestamp u64           192 user_id u32          216 minimum_metadata_op u64
 *   168 request u64             196 command code u32     224 32 bytes, zero from a client
 *
 * A node that routes a request inside itself writes 240 metadata_watermark u64 and 248 group u64 into its own copy.
 *
 * The u64 getters give numbers: exact below 2^53, above it rounded but never below 2^53. `requestBig` and `sessionBig`
 * are exact.
 */
export class RequestHeader extends HeaderView {
  /** Client id of the logical session; 0 is invalid. */
  get client(): bigint {
    return getU128(this.data, this.start + 128);
  }
  /** Random id of a session or metadata request, 0 for the others. An identifier, not a hash. */
  get requestChecksum(): bigint {
    return getU128(this.data, this.start + 144);
  }
  get timestamp(): number {
    return getU64(this.data, this.start + 160);
  }
  get request(): number {
    return getU64(this.data, this.start + 168);
  }
  get requestBig(): bigint {
    return this.data.getBigUint64(this.start + 168, true);
  }
  get operation(): number {
    return this.data.getUint8(this.start + 176);
  }
  get session(): number {
    return getU64(this.data, this.start + 184);
  }
  get sessionBig(): bigint {
    return this.data.getBigUint64(this.start + 184, true);
  }
  get userId(): number {
    return this.data.getUint32(this.start + 192, true);
  }
  /** Code of a non-replicated command; 0 for the others, whose operation tells. */
  get commandCode(): number {
    return this.data.getUint32(this.start + 196, true);
  }
  get partitionIncarnation(): number {
    return getU64(this.data, this.start + 200);
  }
  get ownerGeneration(): number {
    return getU64(this.data, this.start + 208);
  }
  get minimumMetadataOp(): number {
    return getU64(this.data, this.start + 216);
  }
  get metadataWatermark(): number {
    return getU64(this.data, this.start + 240);
  }
  /** Group that a routed request belongs to: 2^63 for metadata, else below 2^52. Both are exact. */
  get group(): number {
    return getU64(this.data, this.start + 248);
  }

  /** Stamps what the server knows of the sender over what the client claimed. */
  stampUser(userId: number): void {
    putU32(this.data, this.start + 192, userId, "user id");
  }
  /** Stamps the routed form. */
  stampRoute(metadataWatermark: number, group: number | bigint): void {
    putU64(this.data, this.start + 240, metadataWatermark, "metadata watermark");
    putU64(this.data, this.start + 248, group, "group");
  }

  /** Whether `other` carries the same client id; compares without building the numbers. */
  sameClient(other: RequestHeader): boolean {
    return sameWords(this.data, this.start + 128, other.data, other.start + 128);
  }
}

function sameWords(a: DataView, aAt: number, b: DataView, bAt: number): boolean {
  for (let i = 0; i < 16; i += 4) if (a.getUint32(aAt + i, true) !== b.getUint32(bAt + i, true)) return false;
  return true;
}

/** The first broken rule of a request header, or undefined. A server refuses such a request with `InvalidCommand` (3). */
export function validateRequestHeader(header: RequestHeader): FrameError | undefined {
  const command = header.command;
  if (command !== FrameCommand.Request) return wrongCommand(command, FrameCommand.Request);
  if (header.size < HEADER_SIZE) return invalid(`size ${String(header.size)} is below the header size`);
  const operation = header.operation;
  if (!isKnownOperation(operation)) {
    return new FrameError("UnknownDiscriminant", `${String(operation)} is no operation`);
  }
  if (header.isZeroAt(128, 16)) return invalid("client is 0");
  if (operation === Operation.Reserved) return invalid("operation is 0");
  if (operation === Operation.NonReplicated) return undefined;
  const numbered = !header.isZeroAt(168, 8);
  const bound = !header.isZeroAt(184, 8);
  if (operation === Operation.Register) {
    if (numbered || bound) return invalid("a Register carries neither a session nor a request number");
    return undefined;
  }
  if (!numbered) return invalid("request number is 0");
  if (!bound) return invalid("session is 0");
  return undefined;
}

/** Error of a header whose command byte is not `expected`. */
export function wrongCommand(found: number, expected: number): FrameError {
  const name = frameCommandName(found);
  return name === undefined
    ? new FrameError("UnknownCommand", `${String(found)} is no frame command`)
    : new FrameError("InvalidCommand", `expected ${frameCommandName(expected) ?? String(expected)}, found ${name}`);
}

const invalid = (message: string): FrameError => new FrameError("InvalidField", message);

/** What a request says. Fields left out are 0; u64 values may be given in either form. */
export interface RequestFields extends CommonFields {
  readonly client: bigint;
  readonly operation: number;
  readonly requestChecksum?: bigint;
  readonly timestamp?: bigint | number;
  readonly request?: bigint | number;
  readonly session?: bigint | number;
  readonly userId?: number;
  readonly commandCode?: number;
  readonly partitionIncarnation?: bigint | number;
  readonly ownerGeneration?: bigint | number;
  readonly minimumMetadataOp?: bigint | number;
  readonly metadataWatermark?: bigint | number;
  readonly group?: bigint | number;
}

/** Writes the 256 bytes of a request header in front of a body of `fields.bodyLength` bytes. */
export function writeRequestHeader(bytes: Uint8Array, offset: number, fields: RequestFields): void {
  const view = startHeader(bytes, offset, FrameCommand.Request, fields);
  putU128(view, 128, fields.client, "client");
  putU128(view, 144, fields.requestChecksum ?? 0n, "request checksum");
  putU64(view, 160, fields.timestamp ?? 0, "timestamp");
  putU64(view, 168, fields.request ?? 0, "request");
  putU8(view, 176, fields.operation, "operation");
  putU64(view, 184, fields.session ?? 0, "session");
  putU32(view, 192, fields.userId ?? 0, "user id");
  putU32(view, 196, fields.commandCode ?? 0, "command code");
  putU64(view, 200, fields.partitionIncarnation ?? 0, "partition incarnation");
  putU64(view, 208, fields.ownerGeneration ?? 0, "owner generation");
  putU64(view, 216, fields.minimumMetadataOp ?? 0, "minimum metadata op");
  putU64(view, 240, fields.metadataWatermark ?? 0, "metadata watermark");
  putU64(view, 248, fields.group ?? 0, "group");
}

/** A request header alone, for a vectored write in front of a body of `bodyLength` bytes. */
export function buildRequestHeader(fields: Omit<RequestFields, "bodyLength">, bodyLength: number): Uint8Array {
  const header = new Uint8Array(HEADER_SIZE);
  writeRequestHeader(header, 0, { ...fields, bodyLength });
  return header;
}

/** A whole request frame in one buffer. Body pieces are copied behind the header in order. */
export function buildRequest(
  fields: Omit<RequestFields, "bodyLength">,
  body: Uint8Array | readonly Uint8Array[] = [],
): Uint8Array {
  const pieces = body instanceof Uint8Array ? [body] : body;
  const bodyLength = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const frame = new Uint8Array(HEADER_SIZE + bodyLength);
  writeRequestHeader(frame, 0, { ...fields, bodyLength });
  let at = HEADER_SIZE;
  for (const piece of pieces) {
    frame.set(piece, at);
    at += piece.length;
  }
  return frame;
}
