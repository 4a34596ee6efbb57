import { CorruptHistoryError } from "@iggy/engine";
import { ErrorCode, partitionGroup } from "@iggy/protocol";
import { PartitionFenced } from "@iggy/storage";
import { describeAddress, type PartitionAddress } from "../address.js";
import { Alignment } from "./alignment.js";
import { EarlyBytes } from "./early-requests.js";
import type { PartitionDescription, PartitionLog } from "../environment.js";
import type { PartitionGroup } from "../group.js";
import { JobList } from "./jobs.js";
import { LocalPartition } from "./local-partition.js";
import { openGroup } from "./open-group.js";
import { partitionLog } from "./partition-log.js";
import type { PartitionStorage } from "./partition-storage.js";
import type { PartitionTable, TopicChange } from "./partition-table.js";
import type { SessionRetirements } from "./session-retirements.js";
import type { PartitionShard } from "../shard.js";

/** A step that failed is tried again after this long, doubling up to the largest wait. */
const RETRY_MILLIS = 1_000;
const RETRY_MAX_MILLIS = 60_000;

/**
 * Makes the partitions of this node equal to committed metadata. It compares levels, not events: whatever was missed or
 * failed is found by the next pass.
 */
export class Reconciler {
  private readonly shard: PartitionShard;
  private readonly storage: PartitionStorage;
  private readonly table: PartitionTable;
  private readonly alignment: Alignment;
  private readonly retirements: SessionRetirements;
  private readonly earlyBytes = new EarlyBytes();
  private readonly jobs: JobList;
  /** Partitions whose files are being deleted. */
  private readonly removing = new Set<number>();

  constructor(
    shard: PartitionShard,
    storage: PartitionStorage,
    table: PartitionTable,
    retirements: SessionRetirements,
  ) {
    this.shard = shard;
    this.storage = storage;
    this.table = table;
    this.retirements = retirements;
    this.jobs = new JobList();
    this.alignment = new Alignment(shard, this.jobs, ({ address }) => {
      this.look(address);
    });
  }

  pass(scope?: TopicChange): void {
    if (this.shard.isDraining) return;
    if (scope?.groupIds !== undefined) {
      this.passGroups(scope, scope.groupIds);
      return;
    }
    const { catalog } = this.shard.environment;
    for (const local of [...this.table.in(scope)]) {
      if (catalog.partition(local.address)?.incarnation !== local.incarnation) this.remove(local);
    }
    for (const description of catalog.partitions(scope)) this.ensure(description);
  }

  private passGroups(scope: TopicChange, groupIds: ReadonlySet<number>): void {
    for (const local of this.table.in(scope)) {
      if (local.group !== undefined) this.alignment.alignGroups(local, local.group, groupIds);
    }
  }

  /** Looks at one partition. */
  private look(address: PartitionAddress): void {
    if (this.shard.isDraining) return;
    const description = this.shard.environment.catalog.partition(address);
    if (description !== undefined) this.ensure(description);
  }

  /** Resolves when nothing is under way. */
  settled(): Promise<void> {
    return this.jobs.settled();
  }

  /** Deletes directories of partitions that metadata does not know. */
  async removeUnknown(): Promise<void> {
    const { catalog, log } = this.shard.environment;
    for (const address of await this.storage.stored()) {
      if (catalog.partition(address) !== undefined) continue;
      log.info({ partition: describeAddress(address) }, "deleting a partition that metadata does not know");
      await this.deleteFiles(address);
    }
  }

  private ensure(description: PartitionDescription): void {
    const { address, incarnation, members } = description;
    if (!members.includes(this.shard.environment.replica)) return;
    const local = this.table.get(address);
    if (local === undefined) {
      const opening = new LocalPartition(address, incarnation, this.shard, this.earlyBytes);
      this.table.add(opening);
      // The directory of an earlier incarnation goes first; its removal goes on here.
      if (!this.removing.has(partitionGroup(address))) this.startOpening(opening, 0);
    } else if (local.group !== undefined) this.alignment.align(local, local.group, description);
  }

  // Opening.

  private startOpening(local: LocalPartition, failures: number): void {
    local.hasBegun = true;
    local.opening = this.open(local, failures);
    this.jobs.add(local.opening);
  }

  private async open(local: LocalPartition, failures: number): Promise<void> {
    const { catalog } = this.shard.environment;
    const description = catalog.partition(local.address);
    const policy = catalog.topic(local.address.streamId, local.address.topicId);
    if (description?.incarnation !== local.incarnation || policy === undefined) return;
    const log = this.logOf(local.address);
    try {
      const group = await this.shard.fileTasks.run(() => openGroup(this.shard, this.storage, description, policy, log));
      await this.opened(local, group);
    } catch (error) {
      if (isFinal(error)) {
        log.error({ err: error }, "the partition is fenced: its files must not be served");
        local.fence();
        return;
      }
      const retryMillis = backoff(failures);
      log.error({ err: error, retryMillis }, "the partition can not be opened now");
      this.after(retryMillis, () => {
        if (local.state.kind === "opening") this.startOpening(local, failures + 1);
      });
    }
  }

  private async opened(local: LocalPartition, group: PartitionGroup): Promise<void> {
    const description = this.shard.environment.catalog.partition(local.address);
    if (local.state.kind !== "opening" || description === undefined) {
      group.close(ErrorCode.HistoryUnavailable);
      await group.closeFiles();
      return;
    }
    group.counted();
    local.opened(group);
    this.alignment.align(local, group, description);
    // May take as long as the disk is full; nobody waits for it.
    void this.retirements.opened(local);
  }

  // Removal.

  private remove(local: LocalPartition): void {
    const { group, address } = local;
    this.table.remove(local);
    local.remove();
    // It still waited for the removal of the one before it: there is nothing of it to remove.
    if (!local.hasBegun) return;
    group?.close(ErrorCode.HistoryUnavailable);
    this.removing.add(partitionGroup(address));
    this.jobs.add(this.finishRemoval(local, group, 0));
  }

  private async finishRemoval(
    local: LocalPartition,
    group: PartitionGroup | undefined,
    failures: number,
  ): Promise<void> {
    const { address, opening } = local;
    await opening;
    try {
      await group?.closeFiles();
      await this.deleteFiles(address);
    } catch (error) {
      const retryMillis = backoff(failures);
      this.logOf(address).error({ err: error, retryMillis }, "the files of a deleted partition can not be removed now");
      this.after(retryMillis, () => {
        this.jobs.add(this.finishRemoval(local, group, failures + 1));
      });
      return;
    }
    this.removing.delete(partitionGroup(address));
    const next = this.table.get(address);
    if (next === undefined) this.look(address);
    else this.startOpening(next, 0);
  }

  private after(millis: number, run: () => void): void {
    this.shard.waits.at(this.shard.waits.nowMillis + millis, run);
  }

  private deleteFiles(address: PartitionAddress): Promise<void> {
    return this.shard.fileTasks.run(() => this.storage.remove(address));
  }

  private logOf(address: PartitionAddress): PartitionLog {
    return partitionLog(this.shard.environment.log, address);
  }
}

const backoff = (failures: number): number => Math.min(RETRY_MILLIS * 2 ** failures, RETRY_MAX_MILLIS);

/** Whether trying again can not help: the files themselves forbid it. A disk that fails may work again. */
function isFinal(error: unknown): boolean {
  if (error instanceof CorruptHistoryError) return true;
  return error instanceof PartitionFenced && error.reason !== "disk-fault";
}
