/** How many members must agree, by group size. Any two quorums of one view and the next intersect. */
export interface Quorums {
  /** Members that hold an operation before it commits; the primary's own copy counts. */
  readonly replication: number;
  readonly viewChange: number;
  /** Members that must deny an operation before it may be dropped. */
  readonly nack: number;
}

/** The most members a group can have: one bit each in the 32-bit member sets of the wire. */
export const MEMBERS_MAX = 32;

/** The replication quorum is capped so that wide groups commit as fast as five members do. */
const REPLICATION_QUORUM_MAX = 3;

export function quorumsOf(members: number): Quorums {
  if (!Number.isInteger(members) || members < 1 || members > MEMBERS_MAX) {
    throw new RangeError(`a group has 1 to ${MEMBERS_MAX} members, not ${members}`);
  }
  const replication = members === 2 ? 2 : Math.min(Math.ceil(members / 2), REPLICATION_QUORUM_MAX);
  return {
    replication,
    viewChange: members === 2 ? 2 : members - replication + 1,
    nack: members - replication + 1,
  };
}
