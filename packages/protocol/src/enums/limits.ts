/** Sizes and counts that both sides of the protocol rely on. Sizes are bytes. */
export const limits = {
  headerSize: 256,
  sizeFieldOffset: 48,
  nameBytes: 255,
  messagesKeyBytes: 255,
  partitionsPerRequest: 1000,
  messagePayload: 64_000_000,
  messageUserHeaders: 100_000,
  /** Widest frame that any admission may accept: the ceiling of recovery scans, and of bus and body settings. */
  messageSizeCeiling: 268_435_456,
  doViewChangeHeaders: 128,
  lifecycleCompletions: 1024,
  lifecycleBatchHeaderSize: 16,
  lifecycleCompletionSize: 16,
  consumerSessionsPerHeartbeat: 1024,
  sessionsPerRetirement: 128,
  consumerGroupOwners: 1_048_576,
  /** A result section that refuses: count, index and code. */
  rejectionSectionSize: 12,
  replicasPerCluster: 32,
} as const;

/** Bounds on bytes of texts that a command checks before it acts. */
export const textLimits = {
  username: { min: 3, max: 50 },
  password: { min: 3, max: 100 },
  personalAccessTokenName: { min: 3, max: 30 },
} as const;

/** Resource ids are dense and bounded: lowest id that can not be used. */
export const idLimits = {
  streams: 2 ** 20,
  topicsPerStream: 4096,
  partitionsPerTopic: 1_000_000,
  consumerGroupsPerTopic: 2 ** 20,
} as const;

/** Partition id of a poll answer that tells a group member to sync its assignment first. */
export const RESYNC_REQUIRED_PARTITION = 0xffff_ffff;
/** Partition id of a poll answer of a group member that owns no partition. */
export const NO_ASSIGNED_PARTITION = 0xffff_fffe;
/** User id of a connection that is not signed in. */
export const NO_USER_ID = 0xffff_ffff;
/** User id of the root user. */
export const ROOT_USER_ID = 0;
/** Protocol revision that replicas of one cluster must share. */
export const REPLICA_WIRE_REVISION = 1;

/** Bounds of reads that wait (deferred polls and fetches). Times are µs, sizes bytes. */
export const readLimits = {
  maxWaitMicros: 600_000_000n,
  maxRequestTimeoutMicros: 630_000_000n,
  /** How much longer than its wait a request must live. */
  replyMarginMicros: 1_000_000n,
  /** A reply prefix, a batch header and a message header. */
  minMaxBytes: 344,
  pollReplyPrefixSize: 40,
  fetchSectionSize: 56,
  fetchTargets: 1000,
  /** Largest record: a batch header, a message header, a payload and user headers at their limits. */
  maxRecordSize: 64_100_304,
} as const;
