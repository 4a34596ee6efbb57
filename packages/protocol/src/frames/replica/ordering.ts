import { codeOf, oneOf, strictBool, struct, u128, u64, u8 } from "../../codec/index.js";
import { FrameCommand, Operation } from "../../enums/index.js";
import { after, noBody, replicaFrame } from "./layout.js";

/** The byte of an operation; an unknown one means that the sender runs another version. */
export const operation = oneOf("operation", u8, Object.values(Operation));

/**
 * A member holds a prepare. `view` is the sender's current one, not that of the prepare; `commit` the highest it knows.
 *
 *   128 parent u128 · 144 prepare_checksum u128 · 160 op u64 · 168 commit u64 · 176 timestamp u64 · 184 request u64
 *   192 operation u8 · 200 group u64
 */
export const prepareOk = replicaFrame({
  name: "PrepareOk",
  command: FrameCommand.PrepareOk,
  fields: struct("PrepareOk", {
    parent: u128,
    prepareChecksum: u128,
    op: u64,
    commit: u64,
    timestamp: u64,
    request: u64,
    operation,
    group: after(7, u64),
  }),
  body: noBody,
});

/**
 * The primary's heartbeat: how far it has applied its log.
 *
 *   128 commit_checksum u128 · 144 timestamp_monotonic u64 · 152 commit u64 · 160 checkpoint_op u64 · 168 group u64
 *   176 partition_incarnation u64
 */
export const commit = replicaFrame({
  name: "Commit",
  command: FrameCommand.Commit,
  fields: struct("Commit", {
    commitChecksum: u128,
    timestampMonotonic: u64,
    commit: u64,
    checkpointOp: u64,
    group: u64,
    partitionIncarnation: u64,
  }),
  body: noBody,
});

/**
 * Answer to a heartbeat: proves that the sender can be reached, nothing about what it stores.
 *
 *   128 timestamp_monotonic u64, echoed · 136 group u64 · 144 partition_incarnation u64
 */
export const commitReply = replicaFrame({
  name: "CommitReply",
  command: FrameCommand.CommitReply,
  fields: struct("CommitReply", { timestampMonotonic: u64, group: u64, partitionIncarnation: u64 }),
  body: noBody,
});

/**
 * Asks a slow member how far it is, and its answer.
 *
 *   128 nonce u64 · 136 group u64 · 144 partition_incarnation u64 · 152 observed_op u64 · 160 received_op u64
 *   168 held_op u64 · 176 commit_op u64 · 184 kind u8 (0 probe, 1 reply) · 185 ready u8 (0 or 1)
 */
export const prepareProgress = replicaFrame({
  name: "PrepareProgress",
  command: FrameCommand.PrepareProgress,
  fields: struct("PrepareProgress", {
    nonce: u64,
    group: u64,
    partitionIncarnation: u64,
    observedOp: u64,
    receivedOp: u64,
    heldOp: u64,
    commitOp: u64,
    kind: codeOf("progress kind", u8, { probe: 0, reply: 1 }),
    ready: strictBool,
  }),
  body: noBody,
});
