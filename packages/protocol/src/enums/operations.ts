/**
 * Operations of the replicated state machine: the number in the header of requests, prepares and replies.
 *
 * Numbers not listed are unknown; 129, 131, 133, 135, 142, 163, 164 and 165 are never used again.
 */
export const Operation = {
  Reserved: 0,
  // Sessions and reads
  Register: 1,
  NonReplicated: 2,
  Logout: 3,
  // Metadata, written by the primary only
  CreateTopicWithAssignments: 64,
  CreatePartitionsWithAssignments: 65,
  RemoveConsumerGroupMember: 66,
  CompleteConsumerGroupRevocation: 67,
  TruncatePartition: 68,
  FinalizeSession: 70,
  CompleteLifecycle: 71,
  UpdateStreamResolved: 72,
  UpdateTopicResolved: 73,
  UpdateUserResolved: 74,
  RewrapStreamKeys: 75,
  // Metadata, sent by clients
  CreateStream: 128,
  DeleteStream: 130,
  CreateTopic: 132,
  DeleteTopic: 134,
  CreatePartitions: 136,
  DeletePartitions: 137,
  DeleteSegments: 138,
  CreateConsumerGroup: 139,
  DeleteConsumerGroup: 140,
  CreateUser: 141,
  DeleteUser: 143,
  ChangePassword: 144,
  UpdatePermissions: 145,
  CreatePersonalAccessToken: 146,
  DeletePersonalAccessToken: 147,
  JoinConsumerGroup: 148,
  LeaveConsumerGroup: 149,
  UpdateResource: 150,
  // Partitions, sent by clients
  SendMessages: 160,
  StoreConsumerOffset: 161,
  DeleteConsumerOffset: 162,
  // Partitions, written by primaries only
  RetireSession: 166,
  InstallConsumerGroupOwner: 167,
  TransitionPartitionHistory: 168,
  RetireConsumerGroupOwners: 169,
} as const;

export type OperationName = keyof typeof Operation;
export type OperationCode = (typeof Operation)[OperationName];

const nameByCode = new Map<number, string>(Object.entries(Operation).map(([name, code]) => [code, name]));
const codeByName = new Map<string, number>(Object.entries(Operation));

/** Operations that a primary resolves from a client's one, and the operation that the client sent. */
const requestOperations = new Map<number, number>([
  [Operation.CreateTopicWithAssignments, Operation.CreateTopic],
  [Operation.CreatePartitionsWithAssignments, Operation.CreatePartitions],
  [Operation.TruncatePartition, Operation.DeleteSegments],
  [Operation.UpdateStreamResolved, Operation.UpdateResource],
  [Operation.UpdateTopicResolved, Operation.UpdateResource],
  [Operation.UpdateUserResolved, Operation.UpdateResource],
]);

export const operationName = (code: number): string | undefined => nameByCode.get(code);
export const operationOf = (name: string): number | undefined => codeByName.get(name);
export const isKnownOperation = (code: number): boolean => nameByCode.has(code);

/** Register, reads and logout (and the reserved 0): the session layer handles them, not a state machine. */
export const isSessionOperation = (code: number): boolean => code <= Operation.Logout;

/** Applied by the metadata state machine. DeleteSegments is not: the primary resolves it to TruncatePartition. */
export const isMetadataOperation = (code: number): boolean =>
  nameByCode.has(code) &&
  code >= Operation.CreateTopicWithAssignments &&
  code <= Operation.UpdateResource &&
  code !== Operation.DeleteSegments;

/** Ordered by a partition's own group. */
export const isPartitionOperation = (code: number): boolean => nameByCode.has(code) && code >= Operation.SendMessages;

/** Fences and owners that metadata installs in a partition's log. */
export const isPartitionLifecycleOperation = (code: number): boolean =>
  code >= Operation.InstallConsumerGroupOwner && code <= Operation.RetireConsumerGroupOwners;

/** Written by primaries only. A server refuses them from a client. */
export const isInternalOperation = (code: number): boolean =>
  nameByCode.has(code) &&
  ((code >= Operation.CreateTopicWithAssignments && code < Operation.CreateStream) || code >= Operation.RetireSession);

export const isClientAllowed = (code: number): boolean =>
  nameByCode.has(code) && code !== Operation.Reserved && !isInternalOperation(code);

/** Ordered by the metadata group: its operations, registration and logout. */
export const isMetadataPlaneOperation = (code: number): boolean =>
  isMetadataOperation(code) || code === Operation.Register || code === Operation.Logout;

/** Ordered by some group as it stands, without being resolved first. */
export const isPlaneRoutable = (code: number): boolean => isMetadataPlaneOperation(code) || isPartitionOperation(code);

/** Whether the body of a committed reply starts with a result section. */
export const isResultFramed = (code: number): boolean =>
  isMetadataOperation(code) || code === Operation.StoreConsumerOffset || code === Operation.DeleteConsumerOffset;

/** The operation that the client sent, for one that a log holds: 64 → 132, 65 → 136, 68 → 138, 72..74 → 150. */
export const requestOperation = (code: number): number => requestOperations.get(code) ?? code;
