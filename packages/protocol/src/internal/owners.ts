import { checked, exactly, list, struct, u32, u64, type ValueOf } from "../codec/index.js";
import { limits } from "../enums/index.js";
import { consumerGroupOwner } from "../primitives/index.js";

const transition = struct("TransitionPartitionHistory", { incarnation: u64, metadataOp: u64 });
export type TransitionPartitionHistory = ValueOf<typeof transition>;

/**
 * Last fence of an incarnation that metadata is deleting: later requests of it get `HistoryUnavailable` (87).
 *
 *    0  incarnation u64
 *    8  metadata_op u64, not 0
 */
export const transitionPartitionHistory = exactly(
  checked(
    transition,
    ({ metadataOp }) => (metadataOp === 0n ? "a fence names no metadata op" : undefined),
    (s) => ({ incarnation: s.bigint(64), metadataOp: s.bigint(64) | 1n }),
  ),
);

const install = struct("InstallConsumerGroupOwner", {
  incarnation: u64,
  groupId: u64,
  owner: consumerGroupOwner,
  metadataOp: u64,
});
export type InstallConsumerGroupOwner = ValueOf<typeof install>;

/**
 * Who may move a group's offsets in this partition from now on.
 *
 *    0  incarnation u64
 *    8  group_id    u64
 *   16  owner       32 bytes, generation not 0
 *   48  metadata_op u64, not 0
 */
export const installConsumerGroupOwner = exactly(
  checked(
    install,
    ({ owner, metadataOp }) =>
      owner.generation === 0n || metadataOp === 0n ? "an owner has a generation and a metadata op" : undefined,
    (s) => {
      const body = install.sample(s);
      return {
        ...body,
        owner: { ...body.owner, generation: body.owner.generation | 1n },
        metadataOp: body.metadataOp | 1n,
      };
    },
  ),
);

const retire = struct("RetireConsumerGroupOwners", {
  incarnation: u64,
  metadataOp: u64,
  nextGroupId: u64,
  liveGroupIds: list(u32, u64, { max: limits.consumerGroupOwners }),
});
export type RetireConsumerGroupOwners = ValueOf<typeof retire>;

/**
 * Catalogue of a topic's groups: every id below `nextGroupId` that is not listed is deleted for good.
 *
 *    0  incarnation    u64
 *    8  metadata_op    u64, not 0
 *   16  next_group_id  u64
 *   24  live_group_ids [u32 count][u64 × count], strictly ascending and below next_group_id
 */
export const retireConsumerGroupOwners = exactly(
  checked(retire, retireFault, (s) => {
    const liveGroupIds = Array.from({ length: s.integer(3) }, (_, index) => BigInt(index * 4 + s.integer(3)));
    return { ...retire.sample(s), metadataOp: s.bigint(64) | 1n, nextGroupId: s.bigint(60) + 16n, liveGroupIds };
  }),
);

function retireFault({ metadataOp, nextGroupId, liveGroupIds }: RetireConsumerGroupOwners): string | undefined {
  if (metadataOp === 0n) return "a catalogue names no metadata op";
  let least = 0n;
  for (const id of liveGroupIds) {
    if (id < least) return "the live groups are not strictly ascending";
    least = id + 1n;
  }
  return least > nextGroupId ? "a live group is not below the next id" : undefined;
}

/** Whether a catalogue says that a group is gone for good. */
export function retiresGroup({ nextGroupId, liveGroupIds }: RetireConsumerGroupOwners, groupId: bigint): boolean {
  if (groupId >= nextGroupId) return false;
  let low = 0;
  let high = liveGroupIds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((liveGroupIds[middle] ?? 0n) < groupId) low = middle + 1;
    else high = middle;
  }
  return liveGroupIds[low] !== groupId;
}
