import { strictBool, struct, u128, u32, u64 } from "../../codec/index.js";
import { FrameCommand } from "../../enums/index.js";
import { HEADER_SIZE } from "../size.js";
import { after, anyBody, noBody, replicaFrame } from "./layout.js";

/** A member asks for the whole state: 128 nonce u128 · 144 group u64 · 152 partition_incarnation u64 */
export const requestStateTransfer = replicaFrame({
  name: "RequestStateTransfer",
  command: FrameCommand.RequestStateTransfer,
  fields: struct("RequestStateTransfer", { nonce: u128, group: u64, partitionIncarnation: u64 }),
  body: noBody,
});

/**
 * What the primary offers; the body is the manifest of its artifacts.
 *
 *   128 nonce u128 · 144 commit_op u64 · 152 group u64 · 160 available u8 · 161 unavailable_transient u8
 *   168 commit_max u64 · 176 partition_incarnation u64
 */
export const stateTransferTarget = replicaFrame({
  name: "StateTransferTarget",
  command: FrameCommand.StateTransferTarget,
  fields: struct("StateTransferTarget", {
    nonce: u128,
    commitOp: u64,
    group: u64,
    available: strictBool,
    unavailableTransient: strictBool,
    commitMax: after(6, u64),
    partitionIncarnation: u64,
  }),
  body: anyBody,
  fault: ({ available, unavailableTransient, size }) => {
    if (available && unavailableTransient) return "it is available and unavailable";
    return !available && size !== HEADER_SIZE ? "an unavailable state has no manifest" : undefined;
  },
});

/**
 * Asks for bytes of an artifact.
 *
 *   128 nonce u128 · 144 offset u64 · 152 group u64 · 160 len u32, above 0 · 164 artifact u32 · 168 partition_incarnation u64
 */
export const requestStateChunk = replicaFrame({
  name: "RequestStateChunk",
  command: FrameCommand.RequestStateChunk,
  fields: struct("RequestStateChunk", {
    nonce: u128,
    offset: u64,
    group: u64,
    len: u32,
    artifact: u32,
    partitionIncarnation: u64,
  }),
  body: noBody,
  fault: ({ len }) => (len === 0 ? "it asks for nothing" : undefined),
});

/** Bytes of an artifact: 128 nonce u128 · 144 offset u64 · 152 group u64 · 160 artifact u32 · 248 partition_incarnation u64 */
export const stateChunk = replicaFrame({
  name: "StateChunk",
  command: FrameCommand.StateChunk,
  fields: struct("StateChunk", {
    nonce: u128,
    offset: u64,
    group: u64,
    artifact: u32,
    partitionIncarnation: after(84, u64),
  }),
  body: anyBody,
});
