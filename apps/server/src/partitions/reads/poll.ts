import { type PollStart, resolveStart, type Watch } from "@iggy/engine";
import { ErrorCode, POLL_REPLY_PREFIX_SIZE } from "@iggy/protocol";
import type { ReadResult } from "@iggy/storage";
import type { ClientRequest } from "../../request.js";
import type { PollCommand } from "../commands.js";
import type { PartitionGroup } from "../group.js";
import type { InstallWait } from "./install-waits.js";
import { pollReplyHead } from "./reply-heads.js";
import type { PartitionShard } from "../shard.js";
import { letGo } from "../../memory/let-go.js";
import { ParkingPlace } from "./parked.js";
import { readFailureCode } from "./read-failure.js";

/** Between the end of the last read and the moment at which the client gives the reply up. */
const REPLY_MARGIN_MICROS = 200_000;

/**
 * One poll of one partition, plain or deferred: resolves its start once, waits for enough messages, reads, stores the
 * offset when it is asked to, and answers. Fences are checked when it comes and again whenever it goes on.
 */
export class Poll {
  private readonly group: PartitionGroup;
  private readonly shard: PartitionShard;
  private readonly request: ClientRequest;
  private readonly command: PollCommand;
  private readonly maxBytes: number;
  private readonly minCount: number;
  private readonly waitUntilMillis: number;
  private readonly replyByMillis: number;
  private isAnswered = false;
  private isWaitOver: boolean;
  /** Generation of the owner that the poll is bound to. */
  private generation: number;
  private startOffset = 0;
  /** Set while no message is as young as the wanted time: messages below `startOffset` are all older. */
  private notBeforeMicros: number | undefined;
  /** What was stored when a poll behind the stored offset began. */
  private startedBehind: { readonly offset: number | undefined } | undefined;
  private place: ParkingPlace | undefined;
  private watch: Watch<() => void> | undefined;
  private installWait: InstallWait | undefined;
  private isCancellable = false;

  constructor(group: PartitionGroup, shard: PartitionShard, request: ClientRequest, command: PollCommand) {
    const { limits } = shard.environment;
    const now = shard.waits.nowMillis;
    const { wait } = command;
    this.group = group;
    this.shard = shard;
    this.request = request;
    this.command = command;
    const replyBytes = Math.min(wait?.maxBytes ?? Infinity, limits.deferredPollMaxReadBytes);
    this.maxBytes = Math.max(0, replyBytes - POLL_REPLY_PREFIX_SIZE);
    this.minCount = wait?.minCount ?? 1;
    const waitMicros = Math.min(wait?.waitMicros ?? 0, limits.deferredPollMaxWaitMicros);
    this.waitUntilMillis = now + waitMicros / 1000;
    this.replyByMillis = wait === undefined ? Infinity : now + (wait.requestTimeoutMicros - REPLY_MARGIN_MICROS) / 1000;
    this.isWaitOver = waitMicros === 0;
    this.generation = request.ownerGeneration;
  }

  start(): void {
    const { request, group, command } = this;
    const code = group.fence(request.partitionIncarnation);
    if (code !== 0) {
      this.deny(code);
      return;
    }
    const owner = group.owner(command.consumer, request, request.ownerGeneration);
    switch (owner.kind) {
      case "refused":
        this.deny(owner.code);
        return;
      case "installing":
        this.awaitInstall();
        return;
      case "allowed":
        this.generation = owner.generation;
        this.resolve();
    }
  }

  private awaitInstall(): void {
    const giveUp = (): void => {
      this.deny(ErrorCode.TransientNotAccepted);
    };
    const retry = (): void => {
      this.installWait = undefined;
      this.start();
    };
    this.installWait = this.group.installs.add(retry, giveUp);
    if (this.installWait === undefined) giveUp();
    else this.makeCancellable();
  }

  private resolve(): void {
    const { strategy, count, consumer } = this.command;
    const { machine } = this.group;
    const storedOffset = machine.offsets.visible(consumer);
    if (strategy.kind === "next") this.startedBehind = { offset: storedOffset };
    const start: PollStart = resolveStart(strategy, { nextOffset: machine.nextOffset, count, storedOffset });
    if (start.kind === "timestamp") this.locate(start.micros);
    else {
      this.startOffset = start.offset;
      this.proceed();
    }
  }

  /** Looks for the first batch that was appended at or after a time. */
  private locate(micros: number): void {
    const { machine } = this.group;
    const end = machine.nextOffset;
    const found = (offset: number | undefined): void => {
      this.startOffset = offset ?? end;
      this.notBeforeMicros = offset === undefined ? micros : undefined;
      this.proceed();
    };
    // The time of the last operation bounds that of every message.
    if (end === 0 || machine.timestampMicros < micros) {
      found(undefined);
      return;
    }
    const search = this.group.offsetAt(micros);
    if (search === undefined) this.deny(ErrorCode.TransientNotAccepted);
    else this.when(search, () => this.recheck(), found);
  }

  /** Reads when there is enough or the wait is over; else waits on. */
  private proceed(): void {
    const { machine } = this.group;
    const end = machine.nextOffset;
    if (this.notBeforeMicros !== undefined && end > this.startOffset) {
      if (machine.timestampMicros >= this.notBeforeMicros) {
        this.locate(this.notBeforeMicros);
        return;
      }
      this.startOffset = end;
    }
    const from = this.group.firstKept(this.startOffset);
    const available = end - from;
    if (this.isWaitOver || available >= this.minCount) {
      const { currentOffset } = machine;
      this.read((result) => {
        this.deliver(result, currentOffset);
      });
    } else if (available <= 0) this.park(from + 1, Infinity);
    else this.measure(from, end);
  }

  /** Fewer messages than wanted are there; they may fill the reply all the same. */
  private measure(from: number, end: number): void {
    const { currentOffset } = this.group.machine;
    const { bytesSum } = this.group;
    this.read((result) => {
      const isFull = result.bytes >= this.maxBytes || (result.lastOffset ?? end) < end - 1;
      if (isFull) {
        this.deliver(result, currentOffset);
        return;
      }
      letGo(result.memory);
      this.park(from + this.minCount, bytesSum + this.maxBytes - result.bytes);
    });
  }

  private park(wakeOffset: number, wakeBytes: number): void {
    this.place ??= ParkingPlace.take(this.shard, this.request.client, false, this.waitUntilMillis, () => {
      this.isWaitOver = true;
      this.look();
    });
    if (this.place === undefined) {
      this.deny(ErrorCode.DeferredPollCapacityExceeded);
      return;
    }
    this.makeCancellable();
    if (wakeOffset <= this.group.machine.nextOffset || wakeBytes <= this.group.bytesSum) {
      // The partition grew while this read was measured.
      this.proceed();
      return;
    }
    this.watch = this.group.watches.add(wakeOffset, wakeBytes, () => {
      this.watch = undefined;
      this.look();
    });
  }

  /** Woken by growth, by the end of the wait, or because fences may have changed. */
  private look(): void {
    this.unwatch();
    const code = this.recheck();
    if (code === 0) this.proceed();
    else this.deny(code);
  }

  /** `use` takes the memory of the result over. */
  private read(use: (result: ReadResult) => void): void {
    const result = this.group.read(this.startOffset, this.command.count, this.maxBytes);
    if (result === undefined) this.deny(ErrorCode.TransientNotAccepted);
    else if (result instanceof Promise)
      this.when(
        result,
        () => this.recheckInTime(),
        use,
        (late) => letGo(late.memory),
      );
    else use(result);
  }

  private deliver(stored: ReadResult, currentOffset: number): void {
    const { group, request, command, generation } = this;
    const { consumer } = command;
    const result = group.opened(stored);
    if (typeof result === "number") {
      letGo(stored.memory);
      this.deny(result);
      return;
    }
    const { lastOffset } = result;
    if (lastOffset !== undefined) {
      if (command.autoCommit) {
        const { startedBehind } = this;
        const code = group.commitOnRead({ key: consumer, lastOffset, startedBehind }, generation);
        if (code !== 0) {
          letGo(result.memory);
          this.deny(code);
          return;
        }
      }
      if (consumer.kind === "consumer_group") group.machine.owners.served(consumer.id, lastOffset);
    }
    const context = {
      incarnation: group.incarnation,
      ownerGeneration: generation,
      metadataOp: this.shard.environment.catalog.appliedOp,
    };
    const head = pollReplyHead(group.address.partitionId, currentOffset, result.messagesCount, context);
    this.finish();
    request.ok([head, ...result.pieces], { partitionIncarnation: group.incarnation, memory: result.memory });
  }

  /** 0, or why the poll must not go on. */
  private recheck(): number {
    const { request, group, command } = this;
    const code = group.fence(request.partitionIncarnation);
    if (code !== 0) return code;
    const owner = group.owner(command.consumer, request, this.generation);
    if (owner.kind !== "allowed") return ErrorCode.ConsumerGroupPartitionNotOwned;
    const { catalog } = this.shard.environment;
    if (!catalog.isSessionLive(request.client, request.session)) return ErrorCode.StaleClient;
    const { streamId, topicId } = group.address;
    return catalog.mayPoll(request.userId, streamId, topicId) ? 0 : ErrorCode.Unauthorized;
  }

  /** A reply that comes too late must not have stored anything. */
  private recheckInTime(): number {
    return this.shard.waits.nowMillis > this.replyByMillis ? ErrorCode.TransientNotAccepted : this.recheck();
  }

  /** Goes on with what the disk gives, unless the poll ended meanwhile. */
  private when<T>(
    pending: Promise<T>,
    check: () => number,
    use: (value: T) => void,
    drop: (value: T) => void = () => undefined,
  ): void {
    this.makeCancellable();
    pending.then(
      (value) => {
        const code = this.isAnswered ? undefined : check();
        if (code === 0) {
          use(value);
          return;
        }
        drop(value);
        if (code !== undefined) this.deny(code);
      },
      (error: unknown) => {
        if (this.isAnswered) return;
        // Files that are gone because the partition is gone are no fault.
        const code = check();
        if (code === 0) this.group.log.error({ err: error }, "a read failed");
        this.deny(code === 0 ? readFailureCode(error) : code);
      },
    );
  }

  private makeCancellable(): void {
    if (this.isCancellable) return;
    this.isCancellable = true;
    this.request.onCancel((code) => {
      this.deny(code);
    });
  }

  private deny(code: number): void {
    if (this.isAnswered) return;
    this.finish();
    this.request.deny(code);
  }

  private finish(): void {
    this.isAnswered = true;
    this.unwatch();
    this.installWait?.cancel();
    this.place?.leave();
  }

  private unwatch(): void {
    if (this.watch === undefined) return;
    this.group.watches.remove(this.watch);
    this.watch = undefined;
  }
}
