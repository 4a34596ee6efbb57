import { resolveStart, type Watch } from "@iggy/engine";
import type { ReadResult } from "@iggy/storage";
import type { ClientRequest } from "../../request.js";
import type { FetchTarget, OffsetKey } from "../commands.js";
import type { PartitionGroup } from "../group.js";
import type { FetchSectionHead, ServedContext } from "./reply-heads.js";

/** Messages and bytes that a partition got. */
export interface Growth {
  readonly messages: number;
  readonly bytes: number;
}

/** One partition of a fetch, resolved: where it starts, and under which owner. */
export class OpenTarget {
  readonly group: PartitionGroup;
  readonly maxBytes: number;
  readonly startOffset: number;
  private readonly target: FetchTarget;
  private readonly consumer: OffsetKey;
  /** Generation of the owner that the read is bound to, 0 without a group. */
  private readonly generation: number;
  private readonly startedBehind: { readonly offset: number | undefined } | undefined;
  private watch: Watch<() => void> | undefined;
  /** Bytes that a read measured behind the start, and the byte sum of the partition before it. */
  private measured: { readonly bytes: number; readonly sum: number };

  constructor(group: PartitionGroup, target: FetchTarget, consumer: OffsetKey, generation: number, count: number) {
    const { machine } = group;
    const storedOffset = machine.offsets.visible(consumer);
    const start = resolveStart(target.strategy, { nextOffset: machine.nextOffset, count, storedOffset });
    this.group = group;
    this.target = target;
    this.consumer = consumer;
    this.generation = generation;
    this.maxBytes = target.maxBytes;
    // The decoder lets a fetch start at an offset or behind the stored one only, both of which give an offset.
    this.startOffset = start.kind === "offset" ? start.offset : machine.nextOffset;
    this.startedBehind = target.strategy.kind === "next" ? { offset: storedOffset } : undefined;
    this.measured = { bytes: 0, sum: group.bytesSum };
  }

  get partitionId(): number {
    return this.target.partitionId;
  }

  /** Messages that wait behind the start. */
  get available(): number {
    return Math.max(0, this.group.machine.nextOffset - this.group.firstKept(this.startOffset));
  }

  /** Bytes behind the start: what was measured, and what came since. */
  get bytesHeld(): number {
    const { bytesSum } = this.group;
    // What came lies before the start.
    if (this.available === 0) this.measured = { bytes: 0, sum: bytesSum };
    return this.measured.bytes + bytesSum - this.measured.sum;
  }

  /** Takes what a read gave that began at a byte sum; whatever came during the read counts twice at most. */
  measure(bytes: number, sum: number): void {
    this.measured = { bytes, sum };
  }

  /** 0, or why this partition must not be read any more. */
  recheck(request: ClientRequest): number {
    const code = this.group.fence(this.target.incarnation);
    if (code !== 0) return code;
    const owner = this.group.owner(this.consumer, request, this.generation);
    return owner.kind === "refused" ? owner.code : 0;
  }

  /** Stores the offset of the last message; gives 0 or the code that refuses the read. */
  commit(lastOffset: number): number {
    const { consumer, startedBehind } = this;
    const read = { key: consumer, lastOffset, startedBehind };
    return this.group.commitOnRead(read, this.generation);
  }

  served(lastOffset: number): void {
    if (this.consumer.kind === "consumer_group") this.group.machine.owners.served(this.consumer.id, lastOffset);
  }

  section(result: ReadResult, currentOffset: number, metadataOp: number): FetchSectionHead {
    const context: ServedContext = {
      incarnation: this.group.incarnation,
      ownerGeneration: this.generation,
      metadataOp,
    };
    return {
      partitionId: this.partitionId,
      code: 0,
      currentOffset,
      messagesCount: result.messagesCount,
      context,
      nextOffset: result.lastOffset === undefined ? this.startOffset : result.lastOffset + 1,
      recordsBytes: result.bytes,
    };
  }

  /** Calls back with what came when the partition grew by so much, or when its readers must look again. */
  watchGrowth({ messages, bytes }: Growth, wake: (growth: Growth) => void): void {
    const { machine, bytesSum, watches } = this.group;
    const { available, startOffset } = this;
    const isAhead = startOffset > machine.nextOffset;
    const wakeOffset = isAhead ? startOffset + 1 : machine.nextOffset + messages;
    this.watch = watches.add(wakeOffset, isAhead ? Infinity : bytesSum + bytes, () => {
      this.watch = undefined;
      wake({ messages: Math.max(0, this.available - available), bytes: this.group.bytesSum - bytesSum });
    });
  }

  unwatch(): void {
    if (this.watch === undefined) return;
    this.group.watches.remove(this.watch);
    this.watch = undefined;
  }
}
