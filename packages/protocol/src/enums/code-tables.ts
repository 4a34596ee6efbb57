import { keysOf } from "../codec/keys.js";

// The small code tables of the protocol. Names are those of its texts and JSON.

/** Kinds of option values and of user-header keys and values. */
export const HeaderKind = {
  raw: 1,
  string: 2,
  bool: 3,
  int8: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  int128: 8,
  uint8: 9,
  uint16: 10,
  uint32: 11,
  uint64: 12,
  uint128: 13,
  float32: 14,
  float64: 15,
} as const;
export type HeaderKindName = keyof typeof HeaderKind;

/** Size in bytes of the kinds that have a fixed one; `raw` and `string` take 1 to 255. */
export const headerKindSize = {
  bool: 1,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  int128: 16,
  uint8: 1,
  uint16: 2,
  uint32: 4,
  uint64: 8,
  uint128: 16,
  float32: 4,
  float64: 8,
} as const satisfies Partial<Record<HeaderKindName, number>>;

export const ConsumerKind = { consumer: 1, consumer_group: 2, external_group: 3 } as const;
export type ConsumerKindName = keyof typeof ConsumerKind;

export const PartitioningKind = { balanced: 1, partition_id: 2, messages_key: 3 } as const;
export type PartitioningKindName = keyof typeof PartitioningKind;

export const PollingKind = { offset: 1, timestamp: 2, first: 3, last: 4, next: 5 } as const;
export type PollingKindName = keyof typeof PollingKind;

export const AckLevelCode = { no_ack: 0, quorum: 1 } as const;

export const UserStatus = { active: 1, inactive: 2 } as const;
export type UserStatusName = keyof typeof UserStatus;

export const CompressionAlgorithm = { none: 1, gzip: 2 } as const;
export type CompressionAlgorithmName = keyof typeof CompressionAlgorithm;

export const SnapshotType = {
  filesystem_overview: 1,
  process_list: 2,
  resource_usage: 3,
  test: 4,
  server_logs: 5,
  server_config: 6,
  /** Every type but `test`; stands alone. */
  all: 100,
} as const;
export type SnapshotTypeName = keyof typeof SnapshotType;

export const SnapshotCompression = { stored: 1, deflated: 2, bzip2: 3, zstd: 4, lzma: 5, xz: 6 } as const;
export type SnapshotCompressionName = keyof typeof SnapshotCompression;

export const NodeRole = { leader: 0, follower: 1 } as const;
export type NodeRoleName = keyof typeof NodeRole;

/** What a node says of its peers. A sixth value, unknown, has a name only: readers refuse it, so it is never sent. */
export const NodeStatus = { healthy: 0, starting: 1, stopping: 2, unreachable: 3, maintenance: 4 } as const;
export type NodeStatusName = keyof typeof NodeStatus;

/** How a client is connected; readers show other codes as unknown. */
export const ClientTransport = { tcp: 1, quic: 2, http: 3, websocket: 4 } as const;
export type ClientTransportName = keyof typeof ClientTransport;

/** Scope of an option: which resource it belongs to. */
export const OptionScope = { topic: 1, stream: 2, user: 3 } as const;
export type OptionScopeName = keyof typeof OptionScope;

/** Name of a code in one of the tables above. */
export function nameOf<N extends string>(table: Readonly<Record<N, number>>, code: number): N | undefined {
  return keysOf(table).find((name) => table[name] === code);
}
