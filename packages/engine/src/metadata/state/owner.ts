/**
 * Who may move a group's offsets in one partition. Client and session are both 0 for a fence that admits nobody;
 * `generation` is the metadata op that decided it, so no owner ever matches an older one, a recreated group included.
 */
export interface GroupOwner {
  readonly client: bigint;
  readonly session: number;
  readonly generation: number;
}

/** Before the first decision. */
export const noOwner: GroupOwner = { client: 0n, session: 0, generation: 0 };

export const isSameHolder = (left: GroupOwner, right: Omit<GroupOwner, "generation">): boolean =>
  left.client === right.client && left.session === right.session;
