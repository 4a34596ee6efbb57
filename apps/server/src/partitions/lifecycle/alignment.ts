import { encodeGroupRetirement, encodeHistoryEnd, encodeOwner } from "@iggy/engine";
import { Operation } from "@iggy/protocol";
import type { GroupOwnerDecision, PartitionDescription } from "../environment.js";
import type { PartitionGroup } from "../group.js";
import type { JobList } from "./jobs.js";
import type { LocalPartition } from "./local-partition.js";
import type { PartitionShard } from "../shard.js";

/** A decision that could not be ordered is offered again after this long. */
const RETRY_MILLIS = 1_000;

/** Carries what metadata decided about an open partition into its log: owners, deleted groups, truncation, its end. */
export class Alignment {
  private readonly shard: PartitionShard;
  private readonly jobs: JobList;
  private readonly lookAgain: (local: LocalPartition) => void;

  constructor(shard: PartitionShard, jobs: JobList, lookAgain: (local: LocalPartition) => void) {
    this.shard = shard;
    this.jobs = jobs;
    this.lookAgain = lookAgain;
  }

  /** Carries out what was decided about some consumer groups. */
  alignGroups(local: LocalPartition, group: PartitionGroup, groupIds: ReadonlySet<number>): void {
    const { catalog } = this.shard.environment;
    for (const groupId of groupIds) {
      const decision = catalog.groupOwner(local.address, groupId);
      if (decision !== undefined) this.install(local, group, decision);
    }
    group.recheckReaders();
  }

  align(local: LocalPartition, group: PartitionGroup, description: PartitionDescription): void {
    const { catalog } = this.shard.environment;
    for (const decision of catalog.groupOwners(local.address)) this.install(local, group, decision);
    this.retireGroups(local, group);
    this.truncate(local, group, description.truncatedBelow - 1);
    if (description.endingOp !== undefined) this.end(local, group, description.endingOp);
    // A member may have to give the partition up, which ends its waiting reads before the next owner is installed.
    group.recheckReaders();
  }

  private install(local: LocalPartition, group: PartitionGroup, decision: GroupOwnerDecision): void {
    const { groupId, client, session, generation } = decision;
    const installed = group.machine.owner(groupId);
    // Without an owner nobody may act for the group, so there is nobody to fence out.
    const isNeeded = installed === undefined ? client !== 0n : installed.generation < generation;
    if (!isNeeded || local.installing.get(groupId) === generation) return;
    local.installing.set(groupId, generation);
    const body = encodeOwner({
      incarnation: local.incarnation,
      groupId,
      owner: { client, session, generation },
      metadataOp: generation,
    });
    this.order(local, group, Operation.InstallConsumerGroupOwner, body, () => {
      if (local.installing.get(groupId) === generation) local.installing.delete(groupId);
    });
  }

  /** A deleted group needs a record only where it left an owner or offsets. */
  private retireGroups(local: LocalPartition, group: PartitionGroup): void {
    if (local.isRetiringGroups) return;
    const { streamId, topicId } = local.address;
    const { catalog } = this.shard.environment;
    const { nextGroupId, live } = catalog.groupIds(streamId, topicId);
    const isLive = new Set(live);
    const isLeftover = (id: number): boolean => id < nextGroupId && !isLive.has(id);
    if (!group.machine.hasGroupState(isLeftover)) return;
    local.isRetiringGroups = true;
    const { incarnation } = local;
    const body = encodeGroupRetirement({ incarnation, metadataOp: catalog.appliedOp, nextGroupId, live });
    this.order(local, group, Operation.RetireConsumerGroupOwners, body, () => {
      local.isRetiringGroups = false;
    });
  }

  private end(local: LocalPartition, group: PartitionGroup, endingOp: number): void {
    if (local.isEnding || group.machine.isEnded) return;
    local.isEnding = true;
    const body = encodeHistoryEnd(local.incarnation, endingOp);
    this.order(local, group, Operation.TransitionPartitionHistory, body, () => {
      local.isEnding = false;
    });
  }

  private order(
    local: LocalPartition,
    group: PartitionGroup,
    operation: number,
    body: Uint8Array,
    done: () => void,
  ): void {
    this.jobs.add(
      group.order(operation, body).then((code) => {
        done();
        if (code !== 0 && !group.isClosed) this.retryLater(local);
      }),
    );
  }

  private truncate(local: LocalPartition, group: PartitionGroup, throughOffset: number): void {
    if (throughOffset < 0 || local.isTruncating || !group.hasSealedThrough(throughOffset)) return;
    local.isTruncating = true;
    this.jobs.add(
      group.deleteSegments(throughOffset).then((isDone) => {
        local.isTruncating = false;
        if (group.isClosed) return;
        // A later request may have moved the offset while this one was carried out.
        if (isDone) this.lookAgain(local);
        else this.retryLater(local);
      }),
    );
  }

  private retryLater(local: LocalPartition): void {
    if (local.isRetrying) return;
    local.isRetrying = true;
    const { waits } = this.shard;
    waits.at(waits.nowMillis + RETRY_MILLIS, () => {
      local.isRetrying = false;
      this.lookAgain(local);
    });
  }
}
