/** What a metadata change is about. Codes up to 127 are for later groups, above for extensions. */
export const MetadataGroup = {
  streams: 1,
  topics: 2,
  partitions: 3,
  consumer_groups: 4,
  consumer_group_members: 5,
  users: 6,
  personal_access_tokens: 7,
  sessions: 8,
} as const;
export type MetadataGroupName = keyof typeof MetadataGroup;

/** Records are kept per class: an eviction of busy activity never costs a resource record. */
export type RetentionClass = "resource" | "activity";

interface GroupInfo {
  readonly name: MetadataGroupName;
  readonly retention: RetentionClass;
  /** Groups that a scan of the current state must select too, since its items refer to theirs. */
  readonly parents: readonly MetadataGroupName[];
}

const groups = new Map<number, GroupInfo>(
  (
    [
      { name: "streams", retention: "resource", parents: [] },
      { name: "topics", retention: "resource", parents: ["streams"] },
      { name: "partitions", retention: "resource", parents: ["topics", "streams"] },
      { name: "consumer_groups", retention: "resource", parents: ["topics", "streams"] },
      {
        name: "consumer_group_members",
        retention: "activity",
        parents: ["consumer_groups", "partitions", "topics", "streams"],
      },
      { name: "users", retention: "resource", parents: [] },
      { name: "personal_access_tokens", retention: "resource", parents: ["users"] },
      { name: "sessions", retention: "activity", parents: ["users"] },
    ] as const satisfies readonly GroupInfo[]
  ).map((info): [number, GroupInfo] => [MetadataGroup[info.name], info]),
);

export const metadataGroupInfo = (code: number): GroupInfo | undefined => groups.get(code);
export const metadataGroupName = (code: number): MetadataGroupName | undefined => groups.get(code)?.name;

export const ALL_GROUPS_MASK = 0xff;

export const groupMaskBit = (code: number): number => 1 << (code - 1);

/** Mask of a selection of group codes; an empty one selects every group. */
export const groupsMask = (codes: readonly number[]): number =>
  codes.length === 0 ? ALL_GROUPS_MASK : codes.reduce((mask, code) => mask | groupMaskBit(code), 0);

/** Whether every selected group comes with all of its parents. */
export function holdsParents(mask: number): boolean {
  return [...groups].every(
    ([code, { parents }]) =>
      (mask & groupMaskBit(code)) === 0 ||
      parents.every((parent) => (mask & groupMaskBit(MetadataGroup[parent])) !== 0),
  );
}
