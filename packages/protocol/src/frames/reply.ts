import { getU128, getU64, putU128, putU32, putU64, putU8 } from "../codec/integers.js";
import { FrameCommand } from "../enums/index.js";
import { HeaderView } from "./header-view.js";
import type { PrepareHeader } from "./prepare.js";
import type { RequestHeader } from "./request.js";
import { blankHeader, type CommonFields, startHeader } from "./write.js";

/**
 * Header of a reply (command 8), after the common prefix.
 *
 *   128 request_checksum u128   184 commit u64       216 status u32
 *   144 context u128, 0         192 timestamp u64    220 commit proof u8, 3 zero bytes
 *   160 client u128             200 request u64      224 partition_incarnation u64
 *   176 op u64                  208 operation u8     232 24 zero bytes
 *
 * The u64 getters give numbers: exact below 2^53, above it rounded but never below 2^53.
 */
export class ReplyHeader extends HeaderView {
  get requestChecksum(): bigint {
    return getU128(this.data, this.start + 128);
  }
  get context(): bigint {
    return getU128(this.data, this.start + 144);
  }
  get client(): bigint {
    return getU128(this.data, this.start + 160);
  }
  /** Log position of a committed operation. */
  get op(): number {
    return getU64(this.data, this.start + 176);
  }
  get opBig(): bigint {
    return this.data.getBigUint64(this.start + 176, true);
  }
  /** A committed position of the metadata log, or 0. A client raises its metadata watermark to it. */
  get commit(): number {
    return getU64(this.data, this.start + 184);
  }
  get commitBig(): bigint {
    return this.data.getBigUint64(this.start + 184, true);
  }
  get timestamp(): number {
    return getU64(this.data, this.start + 192);
  }
  /** Number of the request that this answers: what a client correlates by. */
  get request(): number {
    return getU64(this.data, this.start + 200);
  }
  get requestBig(): bigint {
    return this.data.getBigUint64(this.start + 200, true);
  }
  get operation(): number {
    return this.data.getUint8(this.start + 208);
  }
  /** 0, or the code of a refusal decided before commit; then there is no body. */
  get status(): number {
    return this.data.getUint32(this.start + 216, true);
  }
  /** Whether the body is the final result of a committed operation. */
  get isCommitted(): boolean {
    return this.data.getUint8(this.start + 220) === 1;
  }
  get partitionIncarnation(): number {
    return getU64(this.data, this.start + 224);
  }
  get partitionIncarnationBig(): bigint {
    return this.data.getBigUint64(this.start + 224, true);
  }
}

/** What a reply says. Fields left out are 0; u64 values may be given in either form. */
export interface ReplyFields extends CommonFields {
  readonly client: bigint;
  readonly operation: number;
  readonly request: bigint | number;
  readonly requestChecksum?: bigint;
  readonly op?: bigint | number;
  readonly commit?: bigint | number;
  readonly timestamp?: bigint | number;
  readonly status?: number;
  /** Marks the body as the final result of a committed operation. */
  readonly isCommitted?: boolean;
  readonly partitionIncarnation?: bigint | number;
}

/** Writes the 256 bytes of a reply header in front of a body of `fields.bodyLength` bytes. */
export function writeReplyHeader(bytes: Uint8Array, offset: number, fields: ReplyFields): void {
  const view = writeReplyFields(bytes, offset, fields);
  putU64(view, 184, fields.commit ?? 0, "commit");
  view.setUint8(220, fields.isCommitted === true ? 1 : 0);
}

/** Everything but the commit and its proof. */
function writeReplyFields(
  bytes: Uint8Array,
  offset: number,
  fields: Omit<ReplyFields, "commit" | "isCommitted">,
): DataView {
  const view = startHeader(bytes, offset, FrameCommand.Reply, fields);
  putU128(view, 128, fields.requestChecksum ?? 0n, "request checksum");
  putU128(view, 160, fields.client, "client");
  putU64(view, 176, fields.op ?? 0, "op");
  putU64(view, 192, fields.timestamp ?? 0, "timestamp");
  putU64(view, 200, fields.request, "request");
  putU8(view, 208, fields.operation, "operation");
  putU32(view, 216, fields.status ?? 0, "status");
  putU64(view, 224, fields.partitionIncarnation ?? 0, "partition incarnation");
  return view;
}

/** What a reply adds to the request that it echoes. */
export interface ReplyEcho {
  readonly status?: number;
  readonly bodyLength?: number;
  /** Client id of the logical session, where it is not the one that the request claims. */
  readonly client?: bigint;
  readonly op?: number;
  /** A committed position of the metadata log; clients raise their watermark to it. */
  readonly commit?: number;
  /** Operation to answer with when the request's own is unknown. */
  readonly operation?: number;
  /** Incarnation that served a poll, in place of the request's. */
  readonly partitionIncarnation?: number | undefined;
}

/**
 * Writes the header of a reply that no committed operation stands behind: reads, refusals, transient rejections. It
 * echoes cluster, view, release, replica, request checksum, timestamp, request number, operation and incarnation.
 */
export function writeReplyEcho(bytes: Uint8Array, offset: number, request: RequestHeader, echo: ReplyEcho): void {
  const view = blankHeader(bytes, offset, FrameCommand.Reply, echo.bodyLength ?? 0);
  request.copyField(32, view, 32, 16);
  request.copyField(52, view, 52, 8);
  view.setUint8(61, request.replica);
  request.copyField(144, view, 128, 16);
  if (echo.client === undefined) request.copyField(128, view, 160, 16);
  else putU128(view, 160, echo.client, "client");
  if (echo.op !== undefined) putU64(view, 176, echo.op, "op");
  if (echo.commit !== undefined) putU64(view, 184, echo.commit, "commit");
  request.copyField(160, view, 192, 16);
  putU8(view, 208, echo.operation ?? request.operation, "operation");
  putU32(view, 216, echo.status ?? 0, "status");
  if (echo.partitionIncarnation === undefined) request.copyField(200, view, 224, 8);
  else putU64(view, 224, echo.partitionIncarnation, "partition incarnation");
}

/** What a committed reply takes from its log entry. */
export interface CommittedReply extends CommonFields {
  readonly client: bigint;
  readonly requestChecksum?: bigint;
  /** Log position of the entry, above 0. */
  readonly op: bigint | number;
  readonly timestamp: bigint | number;
  readonly request: bigint | number;
  readonly operation: number;
  readonly partitionIncarnation?: bigint | number;
  /** The operation is committed, but its final result is not known yet: the reply proves nothing. */
  readonly isPending?: boolean;
}

/** Writes the header of the reply to a committed operation. It derives from the log entry alone, so every replica writes it alike. */
export function writeCommittedReply(bytes: Uint8Array, offset: number, fields: CommittedReply): void {
  const view = writeReplyFields(bytes, offset, fields);
  putU64(view, 184, fields.op, "commit");
  view.setUint8(220, fields.isPending === true ? 0 : 1);
}

/** The same from the prepare of the operation. */
export function writeCommittedReplyOf(
  bytes: Uint8Array,
  offset: number,
  prepare: PrepareHeader,
  result: { readonly bodyLength: number; readonly operation?: number; readonly isPending?: boolean },
): void {
  const view = blankHeader(bytes, offset, FrameCommand.Reply, result.bodyLength);
  prepare.copyField(32, view, 32, 16);
  prepare.copyField(52, view, 52, 4);
  view.setUint8(61, prepare.replica);
  prepare.copyField(160, view, 128, 16);
  prepare.copyField(128, view, 160, 16);
  prepare.copyField(176, view, 176, 8);
  prepare.copyField(176, view, 184, 8);
  prepare.copyField(192, view, 192, 16);
  putU8(view, 208, result.operation ?? prepare.operation, "operation");
  view.setUint8(220, result.isPending === true ? 0 : 1);
  prepare.copyField(232, view, 224, 8);
}
