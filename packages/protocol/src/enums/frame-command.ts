import { nameOf } from "./code-tables.js";

/** The command byte of a frame header: what kind of frame it is. */
export const FrameCommand = {
  Reserved: 0,
  Ping: 1,
  Pong: 2,
  PingClient: 3,
  PongClient: 4,
  Request: 5,
  Prepare: 6,
  PrepareOk: 7,
  Reply: 8,
  Commit: 9,
  StartViewChange: 10,
  DoViewChange: 11,
  StartView: 12,
  Eviction: 13,
  ReplicaHello: 14,
  ReplicaChallenge: 15,
  ReplicaFinish: 16,
  RequestStartView: 17,
  RequestPrepares: 18,
  RepairPrepare: 19,
  RepairDone: 20,
  RangeEvicted: 21,
  RequestStateTransfer: 22,
  StateTransferTarget: 23,
  RequestStateChunk: 24,
  StateChunk: 25,
  ForwardRegister: 26,
  ForwardRegisterResult: 27,
  ForwardLogout: 28,
  ForwardLogoutResult: 29,
  ConsumerSessionHeartbeat: 30,
  SessionRetirementProgress: 31,
  ForwardCompletion: 32,
  PrimaryRebalance: 33,
  SegmentDelete: 34,
  CommitReply: 35,
  PrepareProgress: 36,
} as const;

export type FrameCommandName = keyof typeof FrameCommand;

export const frameCommandName = (code: number): FrameCommandName | undefined => nameOf(FrameCommand, code);
