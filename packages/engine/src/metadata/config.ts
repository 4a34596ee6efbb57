/** What a node configures of the metadata state machine. */
export interface MetadataConfig {
  /** Ids of the nodes of the roster, ascending. */
  readonly nodes: readonly number[];
  /** Version text that login replies carry. */
  readonly serverVersion: string;
  /** Sessions with retry protection. The first committed operation fixes it; later values change nothing. */
  readonly clientsTableMax: number;
  /** Most partitions of the whole server; 0 = no limit. Checked when the primary resolves a create. */
  readonly partitionsMax: number;
  /** Most personal access tokens of a user. Checked when the primary resolves a create. */
  readonly tokensPerUserMax: number;
  /** Nodes that store a partition whose topic names no replication factor. */
  readonly defaultReplicationFactor: number;
  /** Records that the change log keeps of streams, topics, partitions, groups, users and tokens. */
  readonly changeLogResourceCapacity: number;
  /** Records that it keeps of sessions, members and handovers. */
  readonly changeLogActivityCapacity: number;
  /** Most bytes of one page of metadata changes; one record is always sent. */
  readonly changesPageBytesMax: number;
}

export const defaultMetadataConfig: MetadataConfig = {
  nodes: [0],
  serverVersion: "0.10.0",
  clientsTableMax: 8192,
  partitionsMax: 0,
  tokensPerUserMax: 100,
  defaultReplicationFactor: 1,
  changeLogResourceCapacity: 65_536,
  changeLogActivityCapacity: 16_384,
  changesPageBytesMax: 16 * 1024 * 1024,
};

/** Users of one server. The id is a u32 on the wire, and its last value means "not signed in". */
export const USERS_MAX = 2 ** 20;
