import { struct, u128, u64 } from "../../codec/index.js";
import { FrameCommand } from "../../enums/index.js";
import { noBody, replicaFrame } from "./layout.js";

/**
 * Asks a peer for a range of the log, both ends included.
 *
 *   128 nonce u128 · 144 from_op u64, at least 1 · 152 to_op u64 · 160 group u64 · 168 partition_incarnation u64
 */
export const requestPrepares = replicaFrame({
  name: "RequestPrepares",
  command: FrameCommand.RequestPrepares,
  fields: struct("RequestPrepares", { nonce: u128, fromOp: u64, toOp: u64, group: u64, partitionIncarnation: u64 }),
  body: noBody,
  fault: ({ fromOp, toOp }) => (fromOp === 0n || fromOp > toOp ? "the range is empty" : undefined),
});

const rangeReply = struct("repair range reply", { nonce: u128, op: u64, group: u64, partitionIncarnation: u64 });

/** The range was served up to `op`, `from_op - 1` for nothing: 128 nonce u128 · 144 op u64 · 152 group u64 · 160 incarnation u64 */
export const repairDone = replicaFrame({
  name: "RepairDone",
  command: FrameCommand.RepairDone,
  fields: rangeReply,
  body: noBody,
});

/** The peer no longer has the range; `op` is the oldest one it has. The layout of RepairDone. */
export const rangeEvicted = replicaFrame({
  name: "RangeEvicted",
  command: FrameCommand.RangeEvicted,
  fields: rangeReply,
  body: noBody,
});
