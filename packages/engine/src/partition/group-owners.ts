/** The one session that may read and commit for a group on this partition. */
export interface InstalledOwner {
  /** Zero client and session: nobody, until the next owner is installed. */
  readonly client: bigint;
  readonly session: number;
  /** Metadata op that decided it. It never repeats, so a recreated group can not match an old owner. */
  readonly generation: number;
}

interface Entry {
  readonly owner: InstalledOwner;
  /** Highest offset handed to this owner, -1 for none. Known to the primary only. */
  servedThrough: number;
}

/**
 * Group owners that the partition's log has installed, and the groups that are deleted for good. Metadata membership
 * alone authorises nothing: the log must have installed the owner first.
 */
export class GroupOwners {
  private readonly installed = new Map<number, Entry>();
  /** Groups below this number that are not in `live` are deleted. */
  private boundary = 0;
  private live: ReadonlySet<number> = new Set();

  owner(groupId: number): InstalledOwner | undefined {
    return this.installed.get(groupId)?.owner;
  }

  /** Whether the session is the installed owner; a nonzero `generation` must be the installed one. */
  isOwner(groupId: number, client: bigint, session: number, generation: number): boolean {
    const owner = this.installed.get(groupId)?.owner;
    return (
      owner !== undefined &&
      owner.client !== 0n &&
      owner.client === client &&
      owner.session === session &&
      (generation === 0 || generation === owner.generation)
    );
  }

  /** Returns false for an owner that is older than the installed one, and for a deleted group. */
  install(groupId: number, owner: InstalledOwner): boolean {
    if (this.isRetired(groupId)) return false;
    const current = this.installed.get(groupId)?.owner;
    if (current !== undefined && owner.generation <= current.generation) return false;
    this.installed.set(groupId, { owner, servedThrough: -1 });
    return true;
  }

  isRetired(groupId: number): boolean {
    return groupId < this.boundary && !this.live.has(groupId);
  }

  /** Merges a catalogue of group numbers: a number stays live only if no catalogue retired it. */
  retire(nextGroupId: number, liveIds: readonly number[]): void {
    const incoming = new Set(liveIds);
    const boundary = Math.max(this.boundary, nextGroupId);
    const survives = (id: number): boolean => !this.isRetired(id) && (id >= nextGroupId || incoming.has(id));
    this.live = new Set([...this.live, ...incoming].filter((id) => id < boundary && survives(id)));
    this.boundary = boundary;
    for (const id of [...this.installed.keys()]) if (this.isRetired(id)) this.installed.delete(id);
  }

  served(groupId: number, lastOffset: number): void {
    const entry = this.installed.get(groupId);
    if (entry !== undefined && lastOffset > entry.servedThrough) entry.servedThrough = lastOffset;
  }

  /** The owner holds messages that it has not committed. */
  isInFlight(groupId: number, committed: number | undefined): boolean {
    const served = this.installed.get(groupId)?.servedThrough ?? -1;
    return served > (committed ?? -1);
  }

  hasOwner(isWanted: (groupId: number) => boolean): boolean {
    for (const id of this.installed.keys()) if (isWanted(id)) return true;
    return false;
  }

  /** Installed owners by ascending group. */
  entries(): (readonly [groupId: number, owner: InstalledOwner])[] {
    return [...this.installed].map(([id, { owner }]) => [id, owner] as const).sort(([a], [b]) => a - b);
  }

  retirement(): { readonly nextGroupId: number; readonly live: readonly number[] } {
    return { nextGroupId: this.boundary, live: [...this.live].sort((a, b) => a - b) };
  }

  restore(
    owners: Iterable<readonly [number, InstalledOwner]>,
    retirement: { readonly nextGroupId: number; readonly live: readonly number[] },
  ): void {
    this.installed.clear();
    for (const [id, owner] of owners) this.installed.set(id, { owner, servedThrough: -1 });
    this.boundary = retirement.nextGroupId;
    this.live = new Set(retirement.live);
  }
}
