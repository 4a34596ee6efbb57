import { struct, u128, u32, u64, u8 } from "../../codec/index.js";
import { isZero, putU64, viewOf } from "../../codec/integers.js";
import { FrameCommand, limits } from "../../enums/index.js";
import { FrameError } from "../frame-error.js";
import { HEADER_SIZE } from "../size.js";
import { after, noBody, replicaFrame } from "./layout.js";

/** Set in `flags` of a DoViewChange by a member whose log can't be trusted. */
export const UNTRUSTED_LOG = 1;

/** A suffix of the log: whole prepare headers, highest op first, at most 128. */
const isSuffix = (length: number): boolean =>
  length % HEADER_SIZE === 0 && length / HEADER_SIZE <= limits.doViewChangeHeaders;

/** Asks the group to move to a view: 128 group u64 · 136 partition_incarnation u64 */
export const startViewChange = replicaFrame({
  name: "StartViewChange",
  command: FrameCommand.StartViewChange,
  fields: struct("StartViewChange", { group: u64, partitionIncarnation: u64 }),
  body: noBody,
});

/**
 * A member's log for the candidate of a view; the body is its suffix.
 *
 *   128 op u64, head of the log · 136 commit u64, at most op · 144 group u64 · 152 log_view u32, at most view
 *   156 flags u8, bit 0 = untrusted log · 216 partition_incarnation u64
 *   224 nack_bitset u128, bit i: the sender never prepared entry i · 240 present_bitset u128, bit i: it can serve entry i
 */
export const doViewChange = replicaFrame({
  name: "DoViewChange",
  command: FrameCommand.DoViewChange,
  fields: struct("DoViewChange", {
    op: u64,
    commit: u64,
    group: u64,
    logView: u32,
    flags: u8,
    partitionIncarnation: after(59, u64),
    nackBitset: u128,
    presentBitset: u128,
  }),
  body: isSuffix,
  bodyFault: "InvalidField",
  fault: (header) => {
    if (header.commit > header.op) return "commit is above op";
    if (header.logView > header.view) return "the log is from a later view";
    if ((header.flags & ~UNTRUSTED_LOG) !== 0) return "an unknown flag is set";
    const entries = BigInt((header.size - HEADER_SIZE) / HEADER_SIZE);
    return (header.nackBitset | header.presentBitset) >> entries === 0n ? undefined : "a bit is set past the suffix";
  },
});

/**
 * The primary of a view starts it; the body is its suffix.
 *
 *   128 op u64 · 136 commit u64, at most op · 144 group u64 · 152 partition_incarnation u64
 *   240 incarnation u128, echo of the probe that it answers, else 0
 */
export const startView = replicaFrame({
  name: "StartView",
  command: FrameCommand.StartView,
  fields: struct("StartView", {
    op: u64,
    commit: u64,
    group: u64,
    partitionIncarnation: u64,
    incarnation: after(80, u128),
  }),
  body: isSuffix,
  bodyFault: "InvalidField",
  fault: (header) => (header.commit > header.op ? "commit is above op" : undefined),
});

/** A member asks which view runs: 128 group u64 · 136 partition_incarnation u64 · 240 incarnation u128, its boot nonce */
export const requestStartView = replicaFrame({
  name: "RequestStartView",
  command: FrameCommand.RequestStartView,
  fields: struct("RequestStartView", { group: u64, partitionIncarnation: u64, incarnation: after(96, u128) }),
  body: noBody,
});

/** The prepare headers of a suffix, as views; entry i is op `head - i`. Throws a FrameError for a body of another size. */
export function suffixHeaders(body: Uint8Array): Uint8Array[] {
  if (!isSuffix(body.length)) throw new FrameError("InvalidField", `${String(body.length)} bytes are no log suffix`);
  return Array.from({ length: body.length / HEADER_SIZE }, (_, i) =>
    body.subarray(i * HEADER_SIZE, (i + 1) * HEADER_SIZE),
  );
}

const OP_OFFSET = 176;

/** The entry of an op that the sender does not know: a prepare of zeros that names the op. */
export function blankEntry(op: bigint): Uint8Array {
  const header = new Uint8Array(HEADER_SIZE);
  const view = viewOf(header);
  view.setUint8(60, FrameCommand.Prepare);
  putU64(view, OP_OFFSET, op, "op");
  return header;
}

/** Whether an entry is the blank of `op`; only exactly those bytes are. */
export function isBlankEntry(entry: Uint8Array, op: bigint): boolean {
  const view = viewOf(entry);
  return (
    entry.length === HEADER_SIZE &&
    view.getUint8(60) === FrameCommand.Prepare &&
    view.getBigUint64(OP_OFFSET, true) === op &&
    isZero(view, 0, 60) &&
    isZero(view, 61, OP_OFFSET - 61) &&
    isZero(view, OP_OFFSET + 8, HEADER_SIZE - OP_OFFSET - 8)
  );
}
