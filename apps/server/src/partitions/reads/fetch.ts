import { BATCH_HEADER_SIZE, ErrorCode, FETCH_REPLY_MARGIN_MICROS, MESSAGE_HEADER_SIZE } from "@iggy/protocol";
import type { Memory, ReadResult } from "@iggy/storage";
import type { ClientRequest } from "../../request.js";
import type { FetchCommand, FetchTarget } from "../commands.js";
import type { PartitionGroup } from "../group.js";
import type { InstallWait } from "./install-waits.js";
import { fetchProbeReply } from "./probe-reply.js";
import { fetchReplyHead, type FetchSectionHead } from "./reply-heads.js";
import type { PartitionShard } from "../shard.js";
import { type Growth, OpenTarget } from "./fetch-target.js";
import { letGo } from "../../memory/let-go.js";
import { emptyRead } from "./empty-read.js";
import { ParkingPlace } from "./parked.js";
import { readFailureCode } from "./read-failure.js";

/** The smallest record: one empty message. */
const RECORD_BYTES_MIN = BATCH_HEADER_SIZE + MESSAGE_HEADER_SIZE;

/** A partition of the request: open to be read, or refused with a code. */
type Part = OpenTarget | { readonly partitionId: number; readonly code: number };

/** What a partition gives, or the code of its section. */
type Reading = ReadResult | number;

/** Finds the partition of a target, or the code that its section carries. */
export type TargetLookup = (target: FetchTarget) => PartitionGroup | number;

/**
 * A grouped read: waits until all its partitions together hold enough, then reads them in the order of the request, out
 * of one budget of messages and bytes. What is wrong with one partition is said in its section and spoils no other.
 */
export class Fetch {
  private readonly shard: PartitionShard;
  private readonly request: ClientRequest;
  private readonly command: FetchCommand;
  private readonly maxBytes: number;
  private readonly waitUntilMillis: number;
  /** No partition is read after this. */
  private readonly readByMillis: number;
  private parts: Part[] = [];
  private isWaitOver: boolean;
  private isAnswered = false;
  private isServing = false;
  /** The bytes that were there are known; what comes is counted. */
  private isMeasured = false;
  /** Code of the cancel, 0 without one. */
  private cancelledWith = 0;
  private isCancellable = false;
  private hasStored = false;
  /** A partition has more than it may give. */
  private hasFullPart = false;
  private place: ParkingPlace | undefined;
  /** What was read for the reply. */
  private readonly memory: Memory[] = [];
  private installWait: InstallWait | undefined;
  private isInstallOverdue = false;

  constructor(shard: PartitionShard, request: ClientRequest, command: FetchCommand) {
    const { limits } = shard.environment;
    const now = shard.waits.nowMillis;
    const { wait } = command;
    this.shard = shard;
    this.request = request;
    this.command = command;
    this.maxBytes = Math.min(wait.maxBytes, limits.deferredPollMaxReadBytes);
    const waitMicros = Math.min(wait.waitMicros, limits.deferredPollMaxWaitMicros);
    this.waitUntilMillis = now + waitMicros / 1000;
    this.readByMillis = now + (wait.requestTimeoutMicros - 2 * FETCH_REPLY_MARGIN_MICROS) / 1000;
    this.isWaitOver = waitMicros === 0;
  }

  start(lookup: TargetLookup): void {
    const { command, request } = this;
    // It may have waited for a partition to open.
    const lost = this.recheckCaller();
    if (lost !== 0) {
      this.deny(lost);
      return;
    }
    const parts: Part[] = [];
    for (const target of command.targets) {
      const { partitionId } = target;
      const group = lookup(target);
      if (typeof group === "number") {
        parts.push({ partitionId, code: group });
        continue;
      }
      const code = group.fence(target.incarnation);
      const owner = group.owner(command.consumer, request, target.ownerGeneration);
      if (code !== 0) parts.push({ partitionId, code });
      else if (owner.kind === "allowed") {
        parts.push(new OpenTarget(group, target, command.consumer, owner.generation, command.count));
      } else if (owner.kind === "refused") parts.push({ partitionId, code: owner.code });
      else if (this.awaitInstall(group, lookup)) return;
      else parts.push({ partitionId, code: ErrorCode.TransientNotAccepted });
    }
    this.parts = parts;
    this.proceed();
  }

  /** Starts over once the owner is installed; partitions whose owner does not come in time are refused with 58. */
  private awaitInstall(group: PartitionGroup, lookup: TargetLookup): boolean {
    if (this.isInstallOverdue) return false;
    const retry = (): void => {
      this.installWait = undefined;
      this.start(lookup);
    };
    const giveUp = (): void => {
      this.isInstallOverdue = true;
      retry();
    };
    this.installWait = group.installs.add(retry, giveUp);
    if (this.installWait !== undefined) this.makeCancellable();
    return this.installWait !== undefined;
  }

  private get open(): OpenTarget[] {
    return this.parts.filter((part) => part instanceof OpenTarget);
  }

  /** Serves when there is enough, when a partition failed or when the wait is over; else waits on. */
  private proceed(): void {
    const open = this.open;
    const available = sumOf(open, (target) => target.available);
    const missing = {
      messages: this.command.wait.minCount - available,
      bytes: this.maxBytes - sumOf(open, (target) => target.bytesHeld),
    };
    const isEnough = missing.messages <= 0 || missing.bytes <= 0;
    if (this.isWaitOver || isEnough || open.length < this.parts.length) {
      if (this.command.isProbe === true) this.report(open, available);
      else void this.serve();
    } else if (this.isMeasured || available === 0) this.park(open, missing);
    else {
      // Fewer messages than wanted are there; they may fill the reply all the same.
      void this.measure(open).then((isFull) => {
        if (this.isAnswered) return;
        this.isMeasured = true;
        // Full is as good as over.
        this.isWaitOver ||= isFull;
        this.look();
      });
    }
  }

  /** Reads what is there once, to know its bytes. True when the reply is full, or a partition has more than it may give. */
  private async measure(open: readonly OpenTarget[]): Promise<boolean> {
    let bytes = 0;
    for (const target of open) {
      if (target.available === 0) continue;
      const { machine, bytesSum } = target.group;
      const end = machine.nextOffset;
      const room = this.maxBytes - bytes;
      const result = await this.read(target, this.command.count, Math.min(target.maxBytes, room));
      if (typeof result === "number") continue;
      letGo(result.memory);
      target.measure(result.bytes, bytesSum);
      bytes += result.bytes;
      const hasMore = (result.lastOffset ?? end) < end - 1;
      this.hasFullPart ||= hasMore && target.maxBytes <= room;
      if (bytes >= this.maxBytes || hasMore) return true;
    }
    return false;
  }

  private park(open: readonly OpenTarget[], missing: Growth): void {
    this.isMeasured = true;
    const isPart = this.command.isProbe === true;
    this.place ??= ParkingPlace.take(this.shard, this.request.client, isPart, this.waitUntilMillis, () => {
      this.isWaitOver = true;
      this.look();
    });
    if (this.place === undefined) {
      this.deny(ErrorCode.DeferredPollCapacityExceeded);
      return;
    }
    this.makeCancellable();
    this.watchGrowth(open, missing);
  }

  /**
   * Watches each partition for its share of half of what is missing, and counts what it is told. So a message costs a
   * look at its own partition, and one at all of them only when the missing part may have halved.
   */
  private watchGrowth(open: readonly OpenTarget[], missing: Growth): void {
    const share = {
      messages: Math.ceil(missing.messages / (2 * open.length)),
      bytes: Math.ceil(missing.bytes / (2 * open.length)),
    };
    // Each partition may have grown by almost its share without a word.
    let messagesLeft = missing.messages - open.length * (share.messages - 1);
    let bytesLeft = missing.bytes - open.length * (share.bytes - 1);
    const watch = (target: OpenTarget): void => {
      target.watchGrowth(share, (growth) => {
        messagesLeft -= growth.messages;
        bytesLeft -= growth.bytes;
        if (messagesLeft <= 0 || bytesLeft <= 0 || target.recheck(this.request) !== 0) this.look();
        else watch(target);
      });
    };
    for (const target of open) watch(target);
  }

  /** Woken by growth, by the end of the wait, or because fences may have changed. */
  private look(): void {
    this.unwatch();
    const code = this.recheckCaller();
    if (code !== 0) {
      this.deny(code);
      return;
    }
    this.recheckParts();
    this.proceed();
  }

  private recheckParts(): void {
    this.parts = this.parts.map((part) => {
      if (!(part instanceof OpenTarget)) return part;
      const code = part.recheck(this.request);
      return code === 0 ? part : { partitionId: part.partitionId, code };
    });
  }

  private recheckCaller(): number {
    const { catalog } = this.shard.environment;
    const { client, session, userId } = this.request;
    if (!catalog.isSessionLive(client, session)) return ErrorCode.StaleClient;
    const { streamId, topicId } = this.command;
    return catalog.mayPoll(userId, streamId, topicId) ? 0 : ErrorCode.Unauthorized;
  }

  private async serve(): Promise<void> {
    this.isServing = true;
    // Nothing may start a second reading, or the two would store each other's offsets.
    this.stopWaiting();
    const sections: FetchSectionHead[] = [];
    const pieces: Uint8Array[] = [];
    let countLeft = this.command.count;
    let bytes = this.command.spentBytes ?? 0;
    let isFull = false;
    for (const part of this.parts) {
      if (!(part instanceof OpenTarget)) {
        sections.push(part);
        continue;
      }
      if (this.shard.waits.nowMillis > this.readByMillis) break;
      const { currentOffset } = part.group.machine;
      const budget = Math.min(part.maxBytes, this.maxBytes - bytes);
      // What no message fits into is not worth a read; nor is the rest once a message did not fit.
      isFull ||= this.maxBytes - bytes < RECORD_BYTES_MIN;
      const pending: Reading | Promise<Reading> = isFull ? emptyRead : this.read(part, countLeft, budget);
      let result: Reading = pending instanceof Promise ? await pending : pending;
      if (typeof result !== "number") for (const held of result.memory) this.memory.push(held);
      if (this.isAnswered) {
        letGo(this.memory.splice(0));
        return;
      }
      if (pending instanceof Promise) {
        const lost = this.recheckCaller();
        if (lost !== 0) {
          this.deny(lost);
          return;
        }
        if (this.cancelledWith !== 0 && !this.hasStored) break;
      }
      // Much may have happened since the reading of another partition began.
      const code = part.recheck(this.request);
      if (code !== 0) result = code;
      if (typeof result !== "number" && result.bytes > budget && bytes > 0) {
        // A single message above the limit goes out only alone in its reply.
        isFull = result.bytes <= part.maxBytes;
        result = isFull ? emptyRead : ErrorCode.InvalidSizeBytes;
      }
      if (typeof result !== "number") result = part.group.opened(result);
      if (typeof result !== "number") result = this.commit(part, result);
      if (typeof result === "number") {
        sections.push({ partitionId: part.partitionId, code: result });
        continue;
      }
      sections.push(part.section(result, currentOffset, this.shard.environment.catalog.appliedOp));
      // One by one: small batches make more pieces than a call takes arguments.
      for (const piece of result.pieces) pieces.push(piece);
      countLeft -= result.messagesCount;
      bytes += result.bytes;
    }
    if (this.cancelledWith !== 0 && !this.hasStored) this.deny(this.cancelledWith);
    else this.answer([fetchReplyHead(sections), ...pieces]);
  }

  /** Says what there is instead of reading it. */
  private report(open: readonly OpenTarget[], messages: number): void {
    const bytes = sumOf(open, (target) => target.bytesHeld);
    const isReady = open.length < this.parts.length || this.hasFullPart;
    this.answer([fetchProbeReply({ messages, bytes, isReady })]);
  }

  /** Stores the offset of what was read, when the fetch commits; a refused store gives nothing of the partition. */
  private commit(part: OpenTarget, result: ReadResult): Reading {
    const { lastOffset } = result;
    if (lastOffset === undefined) return result;
    if (this.command.autoCommit) {
      const code = part.commit(lastOffset);
      if (code !== 0) return code;
      this.hasStored = true;
    }
    part.served(lastOffset);
    return result;
  }

  private read(target: OpenTarget, count: number, maxBytes: number): Reading | Promise<Reading> {
    const result = target.group.read(target.startOffset, count, maxBytes);
    if (result === undefined) return ErrorCode.TransientNotAccepted;
    if (!(result instanceof Promise)) return result;
    this.makeCancellable();
    return result.catch((error: unknown) => {
      if (!target.group.isClosed) target.group.log.error({ err: error }, "a read failed");
      return readFailureCode(error);
    });
  }

  private makeCancellable(): void {
    if (this.isCancellable) return;
    this.isCancellable = true;
    this.request.onCancel((code) => {
      this.cancelledWith = code;
      // A read that is being served ends by itself: what it stored before must reach the client.
      if (!this.isServing) this.deny(code);
    });
  }

  private deny(code: number): void {
    if (this.isAnswered) return;
    this.finish();
    letGo(this.memory.splice(0));
    this.request.deny(code);
  }

  private answer(body: readonly Uint8Array[]): void {
    this.finish();
    this.request.ok(body, { memory: this.memory });
  }

  private finish(): void {
    this.isAnswered = true;
    this.installWait?.cancel();
    this.stopWaiting();
  }

  private stopWaiting(): void {
    this.unwatch();
    this.place?.leave();
  }

  private unwatch(): void {
    for (const target of this.open) target.unwatch();
  }
}

const sumOf = (targets: readonly OpenTarget[], figure: (target: OpenTarget) => number): number =>
  targets.reduce((sum, target) => sum + figure(target), 0);
