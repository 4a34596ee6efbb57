import {
  checked,
  type Codec,
  exactly,
  prefixed,
  type Reader,
  readItems,
  struct,
  u32,
  u64,
  u8,
  type ValueOf,
  WireError,
  type Writer,
} from "../codec/index.js";
import { createPartitions } from "../commands/create-partitions.js";
import { createTopic } from "../commands/create-topic.js";
import { optionsPrefixed } from "../primitives/index.js";

/** `[partition_id u32][consensus_group_id u64][initial_view u32]`, 16 bytes */
export const partitionAssignmentRecord = struct("partition assignment", {
  partitionId: u32,
  consensusGroupId: u64,
  initialView: u32,
});

/** A partition that a primary placed. No members means that every node stores it. */
export interface PartitionAssignment extends ValueOf<typeof partitionAssignmentRecord> {
  /** Node ids in member order. All partitions of one create have equally many. */
  readonly members: readonly number[];
}

/**
 * Member lists of a known number of partitions: `[size u8][ids of partition 0][ids of partition 1]…`, up to the end of
 * the input. Nothing at all when the lists are empty.
 */
export const memberLists = (partitionsCount: number): Codec<readonly (readonly number[])[]> => ({
  type: "[u8 size][node id u8 × size] per partition, or nothing",
  minSize: 0,
  size: (lists) => (hasMembers(lists) ? 1 + lists.length * (lists[0]?.length ?? 0) : 0),
  write: (w, lists) => {
    const size = lists[0]?.length ?? 0;
    if (lists.length !== partitionsCount || lists.some((members) => members.length !== size)) {
      throw new WireError("Validation", "the partitions of one create have equally many members");
    }
    if (size === 0) return;
    w.u8(size);
    for (const members of lists) for (const node of members) w.u8(node);
  },
  read: (r) => readMemberLists(r, partitionsCount),
  sample: (s) => {
    const size = s.integer(3);
    return Array.from({ length: partitionsCount }, () => Array.from({ length: size }, () => s.integer(31)));
  },
});

const hasMembers = (lists: readonly (readonly number[])[]): boolean => (lists[0]?.length ?? 0) > 0;

function readMemberLists(r: Reader, partitionsCount: number): number[][] {
  if (r.remaining === 0 || partitionsCount === 0) return Array.from({ length: partitionsCount }, () => []);
  const at = r.offset;
  const size = r.u8();
  if (size === 0) throw new WireError("Validation", "a member section without members", at);
  if (size * partitionsCount > r.remaining) throw new WireError("UnexpectedEof", "a member section is cut short", at);
  return Array.from({ length: partitionsCount }, () => readItems(r, u8, size));
}

/** `[count u32][record × count][member lists]`, up to the end of the input */
const assignments: Codec<readonly PartitionAssignment[]> = {
  type: "[u32 count][16 bytes × count], then member lists",
  minSize: 4,
  size: (partitions) =>
    4 + 16 * partitions.length + memberLists(partitions.length).size(partitions.map(({ members }) => members)),
  write: (w: Writer, partitions) => {
    w.u32(partitions.length);
    for (const partition of partitions) partitionAssignmentRecord.write(w, partition);
    memberLists(partitions.length).write(
      w,
      partitions.map(({ members }) => members),
    );
  },
  read: (r) => {
    const records = readItems(r, partitionAssignmentRecord, r.u32());
    const lists = memberLists(records.length).read(r);
    return records.map((record, index) => ({ ...record, members: lists[index] ?? [] }));
  },
  sample: (s) => {
    const lists = memberLists(s.integer(3)).sample(s);
    return lists.map((members) => ({ ...partitionAssignmentRecord.sample(s), members }));
  },
};

const countFault = (asked: number, placed: number): string | undefined =>
  asked === placed ? undefined : `${String(asked)} partitions asked, ${String(placed)} placed`;

const topicLayout = struct("CreateTopicWithAssignments", {
  request: prefixed(createTopic.request),
  derivedOptions: optionsPrefixed,
  partitions: assignments,
});
export type CreateTopicWithAssignments = ValueOf<typeof topicLayout>;

/**
 * A topic with the partitions that the primary placed and the options that it filled. Partition ids are absolute and
 * distinct.
 *
 *   request         [u32 length][CreateTopic request], explicit options canonical
 *   derived_options [u32 length][block]
 *   partitions      [u32 count][16 bytes × count], as many as the request asks
 *   members         [u8 size][u8 × size] per partition, or nothing
 */
export const createTopicWithAssignments = exactly(
  checked(
    topicLayout,
    ({ request, partitions }) => countFault(request.partitionsCount, partitions.length),
    (s) => {
      const body = topicLayout.sample(s);
      return { ...body, request: { ...body.request, partitionsCount: body.partitions.length } };
    },
  ),
);

const partitionsLayout = struct("CreatePartitionsWithAssignments", {
  request: prefixed(createPartitions.request),
  partitions: assignments,
});
export type CreatePartitionsWithAssignments = ValueOf<typeof partitionsLayout>;

/**
 * Partitions that the primary placed. Their ids are relative: applying adds one past the highest live id.
 *
 *   request    [u32 length][CreatePartitions request]
 *   partitions [u32 count][16 bytes × count], as many as the request asks
 *   members    [u8 size][u8 × size] per partition, or nothing
 */
export const createPartitionsWithAssignments = exactly(
  checked(
    partitionsLayout,
    ({ request, partitions }) => countFault(request.partitionsCount, partitions.length),
    (s) => {
      const body = partitionsLayout.sample(s);
      return { ...body, request: { ...body.request, partitionsCount: body.partitions.length } };
    },
  ),
);
