import { ErrorCode, Operation, requestOperation } from "@iggy/protocol";
import type { User } from "../state/accounts.js";
import type { MetadataConfig } from "../config.js";
import type { Handler } from "./handler.js";
import { OperationContext } from "./operation-context.js";
import type { MetadataApplied, MetadataPrepare } from "../prepare.js";
import { refuse, Refusal } from "../refusal.js";
import type { Session } from "../state/session.js";
import type { MetadataState } from "../state/state.js";
import {
  applyCompleteRevocation,
  applyCreateGroup,
  applyDeleteGroup,
  applyJoinGroup,
  applyLeaveGroup,
  applyRemoveMember,
} from "./groups.js";
import { applyCreatePartitions, applyDeletePartitions, applyTruncatePartition } from "./partitions.js";
import { applyFinalizeSession, applyLogout, applyRegister } from "./sessions.js";
import { applyCreateStream, applyDeleteStream, applyRewrapStreamKeys, applyUpdateStream } from "./streams.js";
import { applyCreateToken, applyDeleteToken } from "./tokens.js";
import { applyCreateTopic, applyDeleteTopic, applyUpdateTopic } from "./topics.js";
import {
  applyChangePassword,
  applyCreateUser,
  applyDeleteUser,
  applyUpdatePermissions,
  applyUpdateUser,
} from "./users.js";

/** What each operation of the log does. Operations that a primary resolves are listed as the log holds them. */
const handlers: ReadonlyMap<number, Handler> = new Map<number, Handler>([
  [Operation.Register, applyRegister],
  [Operation.Logout, applyLogout],
  [Operation.FinalizeSession, applyFinalizeSession],
  [Operation.CreateStream, applyCreateStream],
  [Operation.UpdateStreamResolved, applyUpdateStream],
  [Operation.DeleteStream, applyDeleteStream],
  [Operation.RewrapStreamKeys, applyRewrapStreamKeys],
  [Operation.CreateTopicWithAssignments, applyCreateTopic],
  [Operation.UpdateTopicResolved, applyUpdateTopic],
  [Operation.DeleteTopic, applyDeleteTopic],
  [Operation.CreatePartitionsWithAssignments, applyCreatePartitions],
  [Operation.DeletePartitions, applyDeletePartitions],
  [Operation.TruncatePartition, applyTruncatePartition],
  [Operation.CreateConsumerGroup, applyCreateGroup],
  [Operation.DeleteConsumerGroup, applyDeleteGroup],
  [Operation.JoinConsumerGroup, applyJoinGroup],
  [Operation.LeaveConsumerGroup, applyLeaveGroup],
  [Operation.RemoveConsumerGroupMember, applyRemoveMember],
  [Operation.CompleteConsumerGroupRevocation, applyCompleteRevocation],
  [Operation.CreateUser, applyCreateUser],
  [Operation.UpdateUserResolved, applyUpdateUser],
  [Operation.DeleteUser, applyDeleteUser],
  [Operation.UpdatePermissions, applyUpdatePermissions],
  [Operation.ChangePassword, applyChangePassword],
  [Operation.CreatePersonalAccessToken, applyCreateToken],
  [Operation.DeletePersonalAccessToken, applyDeleteToken],
]);

/**
 * Applies one committed operation. Whatever the body holds, the outcome is a code: only an op that is not the next one is
 * an error, as the caller broke the order of the log.
 */
export function applyPrepare(state: MetadataState, config: MetadataConfig, prepare: MetadataPrepare): MetadataApplied {
  if (prepare.op !== state.appliedOp + 1) {
    throw new RangeError(`op ${String(prepare.op)} does not follow op ${String(state.appliedOp)}`);
  }
  if (prepare.op === 1) beginHistory(state, prepare);
  state.appliedOp = prepare.op;
  state.appliedAtMicros = prepare.timestampMicros;

  const actor = actorOf(state, prepare);
  if (actor instanceof Refusal) {
    // Signing out twice is no fault.
    return { code: prepare.operation === Operation.Logout ? 0 : actor.code, payload: empty, effects: [] };
  }
  const { user, session } = actor;
  // Applied before: a primary that lost its queue may order a request twice, and it must not run twice.
  if (session !== undefined && prepare.request <= session.watermark) return repeated(session, prepare.request);

  const context = new OperationContext(state, config, prepare, user);
  const outcome = handlers.get(prepare.operation)?.(context, prepare.body) ?? refuse(ErrorCode.InvalidCommand);
  if (context.partitionsChanged) state.namespaceRevision++;
  if (context.partitionsChanged || context.ownershipChanged) state.revision++;
  state.changeLog.evict();

  const [code, payload] = outcome instanceof Refusal ? [outcome.code, empty] : [0, outcome];
  if (session?.isLive === true) {
    const { request, requestChecksum, op, timestampMicros, operation, view } = prepare;
    session.record({ request, requestChecksum, op, timestampMicros, operation, view, code, payload });
  }
  return { code, payload, effects: context.effects };
}

const empty = new Uint8Array(0);

function beginHistory(state: MetadataState, prepare: MetadataPrepare): void {
  state.logId = prepare.checksum;
  if (prepare.retryCapacity !== undefined && prepare.retryCapacity > 0) state.sessionsMax = prepare.retryCapacity;
}

interface Actor {
  /** Undefined = the server. */
  readonly user: User | undefined;
  /** Session whose request it is, where requests have receipts. */
  readonly session: Session | undefined;
}

/**
 * Who acts. Requests of clients are numbered from 1, so request 0 is the server's own; a registration has no number
 * either, and its user was verified before it was ordered. Everyone else acts for a live session: one that ended while
 * its request was in the queue must not act any more, as its user may be gone.
 */
function actorOf(state: MetadataState, prepare: MetadataPrepare): Actor | Refusal {
  if (prepare.operation === Operation.Register) {
    return { user: state.users.get(prepare.userId), session: undefined };
  }
  if (prepare.request === 0) return { user: undefined, session: undefined };
  const session = state.sessions.get(prepare.client);
  const isActing = session?.isLive === true && session.epoch === prepare.session && session.userId === prepare.userId;
  const user = isActing ? state.users.get(session.userId) : undefined;
  if (user === undefined) return refuse(ErrorCode.Unauthenticated);
  // The end of a session leaves no receipt to answer from.
  return { user, session: prepare.operation === Operation.Logout ? undefined : session };
}

/** The outcome that the request had the first time; nothing is left to do. */
function repeated(session: Session, request: number): MetadataApplied {
  const receipt = session.receiptOf(request);
  const code = receipt === undefined ? ErrorCode.RequestTooOld : receipt.code;
  const payload = receipt?.payload;
  if (payload === undefined && code === 0) {
    return { code: ErrorCode.RequestAlreadyApplied, payload: empty, effects: [] };
  }
  return { code, payload: payload ?? empty, effects: [] };
}

/** Whether a receipt answers a request of this operation: the log may hold a resolved form of it. */
export const answersOperation = (receiptOperation: number, operation: number): boolean =>
  requestOperation(receiptOperation) === requestOperation(operation);
