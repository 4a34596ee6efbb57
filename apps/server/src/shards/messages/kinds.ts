/** What a record of a main lane is: its first byte. */
export const MainKind = {
  // Requests of clients to the owner of a partition.
  send: 1,
  poll: 2,
  fetch: 3,
  getOffset: 4,
  storeOffset: 5,
  deleteOffset: 6,
  /** Ends a read that waits. */
  cancel: 7,
  // Metadata.
  /** A committed operation, from shard 0 to every other. */
  prepare: 10,
  /** An operation of a client, to shard 0. */
  operation: 11,
  signIn: 12,
  logout: 13,
  /** The answer to one of the three, behind the commit that it reports. */
  metadataAnswer: 14,
  /** A socket that was accepted, to the shard that serves it from now on. */
  connection: 15,
  // What shards ask of each other.
  call: 20,
  result: 21,
  notice: 22,
} as const;

/** What a record of a reply lane is: its first byte. */
export const ReplyKind = { ok: 1, deny: 2, committed: 3 } as const;
