import { isKnownOperation, Operation } from "../enums/index.js";

/** Operations of 0.11 that were retired with 0.12.0. */
export const LegacyOperation = {
  UpdateStream: 129,
  PurgeStream: 131,
  UpdateTopic: 133,
  PurgeTopic: 135,
  UpdateUser: 142,
} as const;

const retired = new Set<number>(Object.values(LegacyOperation));

/** Operations that 0.11 does not know; a reply that carries one reads as `InvalidCommand` (3) there. */
const newer = new Set<number>([
  Operation.FinalizeSession,
  Operation.CompleteLifecycle,
  Operation.UpdateStreamResolved,
  Operation.UpdateTopicResolved,
  Operation.UpdateUserResolved,
  Operation.RewrapStreamKeys,
  Operation.UpdateResource,
  Operation.RetireSession,
  Operation.InstallConsumerGroupOwner,
  Operation.TransitionPartitionHistory,
  Operation.RetireConsumerGroupOwners,
]);

/** Whether a 0.11 peer reads the operation of a header. */
export function isLegacyOperation(code: number): boolean {
  return retired.has(code) || (isKnownOperation(code) && !newer.has(code));
}

/** Whether the body of a committed reply to a 0.11 client starts with a result section. */
export function isLegacyResultFramed(code: number): boolean {
  if (code === Operation.StoreConsumerOffset || code === Operation.DeleteConsumerOffset) return true;
  const isMetadata = code >= Operation.CreateTopicWithAssignments && code <= Operation.LeaveConsumerGroup;
  return isMetadata && isLegacyOperation(code) && code !== Operation.DeleteSegments;
}

/** The operation under which retries are recognised: the three updates became UpdateResource. */
export function currentOperation(code: number): number {
  const isUpdate =
    code === LegacyOperation.UpdateStream ||
    code === LegacyOperation.UpdateTopic ||
    code === LegacyOperation.UpdateUser;
  return isUpdate ? Operation.UpdateResource : code;
}

/** What a committed reply to a 0.11 client carries for an operation of the log. `sent` is the operation of its request. */
export function legacyReplyOperation(code: number, sent: number): number {
  switch (code) {
    case Operation.UpdateResource:
      return sent;
    case Operation.UpdateStreamResolved:
      return LegacyOperation.UpdateStream;
    case Operation.UpdateTopicResolved:
      return LegacyOperation.UpdateTopic;
    case Operation.UpdateUserResolved:
      return LegacyOperation.UpdateUser;
    default:
      return code;
  }
}
