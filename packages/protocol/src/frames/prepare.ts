import { getU128, getU64, putU128, putU32, putU64, putU8 } from "../codec/integers.js";
import { FrameCommand, isKnownOperation, Operation } from "../enums/index.js";
import { FrameError } from "./frame-error.js";
import { HeaderView } from "./header-view.js";
import { wrongCommand } from "./request.js";
import { prepareIdentity, storeChecksum } from "./seal.js";
import { HEADER_SIZE } from "./size.js";
import { type CommonFields, startHeader } from "./write.js";

/** Group that orders metadata. Every other group is a partition's, below 2^52. */
export const METADATA_GROUP = 1n << 63n;

/**
 * Header of a logged operation (Prepare 6, RepairPrepare 19), after the common prefix.
 *
 *   128 client u128             184 commit u64       224 user_id u32
 *   144 parent u128             192 timestamp u64    228 retry_capacity u32
 *   160 request_checksum u128   200 request u64      232 partition_incarnation u64
 *   176 op u64                  208 operation u8     240 8 zero bytes
 *                               216 group u64        248 session u64
 *
 * `checksum` is the identity of the operation: the hash of the header with checksum and view read as zero, so that a
 * later view may send it again. The u64 getters give numbers: exact below 2^53, above it rounded but never below 2^53.
 */
export class PrepareHeader extends HeaderView {
  get client(): bigint {
    return getU128(this.data, this.start + 128);
  }
  /** Identity of the operation before this one; 0 for the first. */
  get parent(): bigint {
    return getU128(this.data, this.start + 144);
  }
  get requestChecksum(): bigint {
    return getU128(this.data, this.start + 160);
  }
  /** Position in the group's log, from 1. */
  get op(): number {
    return getU64(this.data, this.start + 176);
  }
  get commit(): number {
    return getU64(this.data, this.start + 184);
  }
  /** µs, strictly increasing within the group. */
  get timestamp(): number {
    return getU64(this.data, this.start + 192);
  }
  get request(): number {
    return getU64(this.data, this.start + 200);
  }
  get requestBig(): bigint {
    return this.data.getBigUint64(this.start + 200, true);
  }
  get operation(): number {
    return this.data.getUint8(this.start + 208);
  }
  /** 2^63 for metadata, else below 2^52: both are exact. */
  get group(): number {
    return getU64(this.data, this.start + 216);
  }
  get userId(): number {
    return this.data.getUint32(this.start + 224, true);
  }
  /** Capacity of the group's session or writer table, as nominated by its first primary. */
  get retryCapacity(): number {
    return this.data.getUint32(this.start + 228, true);
  }
  get partitionIncarnation(): number {
    return getU64(this.data, this.start + 232);
  }
  /** Session epoch of the client; 0 for a registration and for operations of the server. */
  get session(): number {
    return getU64(this.data, this.start + 248);
  }
  get sessionBig(): bigint {
    return this.data.getBigUint64(this.start + 248, true);
  }
}

/** The first broken rule of a prepare or repair prepare, or undefined. The identity is checked apart (`verifyPrepare`). */
export function validatePrepareHeader(header: PrepareHeader): FrameError | undefined {
  const command = header.command;
  if (command !== FrameCommand.Prepare && command !== FrameCommand.RepairPrepare) {
    return wrongCommand(command, FrameCommand.Prepare);
  }
  const operation = header.operation;
  if (!isKnownOperation(operation)) {
    return new FrameError("UnknownDiscriminant", `${String(operation)} is no operation`);
  }
  if (header.size < HEADER_SIZE) {
    return new FrameError("InvalidSize", `size ${String(header.size)} is below the header size`);
  }
  if (operation === Operation.Reserved) return new FrameError("InvalidField", "operation is 0");
  if (!header.isZeroAt(62, 66)) return new FrameError("InvalidField", "reserved frame bytes are set");
  if (!header.isZeroAt(240, 8)) return new FrameError("InvalidField", "reserved bytes are set");
  return undefined;
}

/** Fields of a logged operation. Fields left out are 0; u64 values may be given in either form. */
export interface PrepareFields extends CommonFields {
  readonly client: bigint;
  readonly op: bigint | number;
  readonly timestamp: bigint | number;
  readonly operation: number;
  readonly group: bigint | number;
  /** XXH3-64 of the body for a metadata operation; a partition's batch carries its own checksum. */
  readonly checksumBody?: bigint;
  readonly parent?: bigint;
  readonly requestChecksum?: bigint;
  readonly commit?: bigint | number;
  readonly request?: bigint | number;
  readonly userId?: number;
  readonly retryCapacity?: number;
  readonly partitionIncarnation?: bigint | number;
  readonly session?: bigint | number;
}

/** Turns a prepare into the frame that repairs a peer with it. Nothing else changes, its identity included. */
export function markAsRepair(bytes: Uint8Array, offset = 0): void {
  bytes[offset + 60] = FrameCommand.RepairPrepare;
}

/** Turns a received repair back into the prepare that a log keeps. */
export function markAsPrepare(bytes: Uint8Array, offset = 0): void {
  bytes[offset + 60] = FrameCommand.Prepare;
}

/** Writes the 256 bytes of a prepare, its identity last. */
export function writePrepareHeader(bytes: Uint8Array, offset: number, fields: PrepareFields): void {
  const view = startHeader(bytes, offset, FrameCommand.Prepare, fields);
  if (fields.checksumBody !== undefined) putU128(view, 16, fields.checksumBody, "body checksum");
  putU128(view, 128, fields.client, "client");
  putU128(view, 144, fields.parent ?? 0n, "parent");
  putU128(view, 160, fields.requestChecksum ?? 0n, "request checksum");
  putU64(view, 176, fields.op, "op");
  putU64(view, 184, fields.commit ?? 0, "commit");
  putU64(view, 192, fields.timestamp, "timestamp");
  putU64(view, 200, fields.request ?? 0, "request");
  putU8(view, 208, fields.operation, "operation");
  putU64(view, 216, fields.group, "group");
  putU32(view, 224, fields.userId ?? 0, "user id");
  putU32(view, 228, fields.retryCapacity ?? 0, "retry capacity");
  putU64(view, 232, fields.partitionIncarnation ?? 0, "partition incarnation");
  putU64(view, 248, fields.session ?? 0, "session");
  storeChecksum(bytes, offset, prepareIdentity(bytes, offset));
}
