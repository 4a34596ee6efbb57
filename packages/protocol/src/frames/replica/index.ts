import * as forwarding from "./forwarding.js";
import * as ordering from "./ordering.js";
import * as placement from "./placement.js";
import * as repair from "./repair.js";
import * as sessions from "./sessions.js";
import * as transfer from "./state-transfer.js";
import * as viewChange from "./view-change.js";

export type { DecodedFrame, ReplicaFrame, ReplicaPrefix, ReplicaSender } from "./layout.js";
export {
  ForwardLogoutOutcome,
  type ForwardLogoutOutcomeName,
  ForwardRegisterOutcome,
  type ForwardRegisterOutcomeName,
  lifecycleCompletion,
  type LifecycleCompletion,
} from "./forwarding.js";
export { NO_QUORUM_AGE, RebalanceKind, type RebalanceKindName } from "./placement.js";
export { reportedSessions, type ReportedSession } from "./sessions.js";
export { blankEntry, isBlankEntry, suffixHeaders, UNTRUSTED_LOG } from "./view-change.js";

/** Every sealed frame of the replica plane; a prepare has its own form, PrepareHeader. */
export const replicaFrames = {
  PrepareOk: ordering.prepareOk,
  Commit: ordering.commit,
  CommitReply: ordering.commitReply,
  PrepareProgress: ordering.prepareProgress,
  StartViewChange: viewChange.startViewChange,
  DoViewChange: viewChange.doViewChange,
  StartView: viewChange.startView,
  RequestStartView: viewChange.requestStartView,
  RequestPrepares: repair.requestPrepares,
  RepairDone: repair.repairDone,
  RangeEvicted: repair.rangeEvicted,
  RequestStateTransfer: transfer.requestStateTransfer,
  StateTransferTarget: transfer.stateTransferTarget,
  RequestStateChunk: transfer.requestStateChunk,
  StateChunk: transfer.stateChunk,
  ForwardRegister: forwarding.forwardRegister,
  ForwardRegisterResult: forwarding.forwardRegisterResult,
  ForwardLogout: forwarding.forwardLogout,
  ForwardLogoutResult: forwarding.forwardLogoutResult,
  ForwardCompletion: forwarding.forwardCompletion,
  ConsumerSessionHeartbeat: sessions.consumerSessionHeartbeat,
  SessionRetirementProgress: sessions.sessionRetirementProgress,
  PrimaryRebalance: placement.primaryRebalance,
  SegmentDelete: placement.segmentDelete,
} as const;
