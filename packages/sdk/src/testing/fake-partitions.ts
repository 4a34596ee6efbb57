import {
  cancelDeferredRequest,
  type Consumer,
  decodeRequest,
  deleteConsumerOffset,
  encodeResponse,
  ErrorCode,
  fetchMessages,
  type FetchMessagesRequest,
  type FetchTarget,
  getConsumerOffset,
  getPartitionRoute,
  type Identifier,
  type PollingStrategy,
  pollMessages,
  pollMessagesDeferred,
  type PollRequest,
  type Right,
  sendMessages,
  storeConsumerOffset,
} from "@iggy/protocol";
import { type GroupProgress, type MetadataMachine, type Partition, type PartitionKey, Refusal } from "@iggy/engine";
import type { Binding, FakeConnection, FakeRequest } from "./fake-connection.js";
import { FakePartition, type FakeRead } from "./fake-partition.js";
import { committedReply, refuse, reply } from "./fake-replies.js";

interface Settings {
  readonly machine: () => MetadataMachine;
  readonly nowMicros: () => number;
  /** Something that a handover may wait for has happened. */
  readonly onProgress: () => void;
}

/** Where a request goes, and who may take it there. */
interface Place {
  readonly partition: Partition;
  readonly log: FakePartition;
}

/** A reader of a partition. */
interface Reader {
  readonly key: string;
  /** The group, where it is one. */
  readonly groupId: number | undefined;
  readonly generation: number;
}

/** A read that waits for messages. */
interface Waiting {
  readonly wire: FakeConnection;
  readonly request: number;
  readonly timer: ReturnType<typeof setTimeout>;
  /** Answers if there is enough by now, or whatever there is. True when it did. */
  readonly answer: (whatever: boolean) => boolean;
  readonly cancel: () => void;
}

/** Reads that wait at once; a server refuses more. */
const maxWaiting = 4096;

/** Messages, reads and offsets of every partition. */
export class FakePartitions implements GroupProgress {
  readonly #settings: Settings;
  readonly #logs = new Map<string, FakePartition>();
  readonly #waiting = new Set<Waiting>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  log(key: PartitionKey): FakePartition {
    const name = nameOf(key);
    const log = this.#logs.get(name) ?? new FakePartition(key.partitionId);
    this.#logs.set(name, log);
    return log;
  }

  drop(key: PartitionKey): void {
    this.#logs.delete(nameOf(key));
  }

  dropWire(wire: FakeConnection): void {
    for (const waiting of [...this.#waiting]) if (waiting.wire === wire) this.#stop(waiting);
  }

  close(): void {
    for (const waiting of [...this.#waiting]) this.#stop(waiting);
  }

  isInFlight(key: PartitionKey, groupId: number): boolean {
    const log = this.log(key);
    const delivered = log.delivered.get(groupId);
    return delivered !== undefined && delivered > (log.offsets.get(groupKey(groupId)) ?? -1);
  }

  /** False when the request is none about partitions. */
  serve(code: number, request: FakeRequest, binding: Binding): boolean {
    switch (code) {
      case getPartitionRoute.code:
        this.#route(request);
        return true;
      case sendMessages.code:
        this.#send(request, binding);
        return true;
      case pollMessages.code:
        this.#poll(request, binding, decodeRequest(pollMessages, request.body), 0, 1, Infinity);
        return true;
      case pollMessagesDeferred.code: {
        const { poll, waitUs, minCount, maxBytes } = decodeRequest(pollMessagesDeferred, request.body);
        this.#poll(request, binding, poll, Number(waitUs) / 1000, minCount, maxBytes);
        return true;
      }
      case fetchMessages.code:
        this.#fetch(request, binding);
        return true;
      case cancelDeferredRequest.code:
        for (const waiting of [...this.#waiting]) {
          if (waiting.wire !== request.wire || waiting.request !== request.header.request) continue;
          this.#stop(waiting);
          waiting.cancel();
        }
        return true;
      case getConsumerOffset.code:
        this.#getOffset(request, binding);
        return true;
      case storeConsumerOffset.code:
      case deleteConsumerOffset.code:
        this.#changeOffset(code, request, binding);
        return true;
      default:
        return false;
    }
  }

  #route(request: FakeRequest): void {
    const { streamId, topicId, partitionId } = decodeRequest(getPartitionRoute, request.body);
    const machine = this.#settings.machine();
    const partition = machine.resolvePartition(streamId, topicId, partitionId);
    if (partition instanceof Refusal) {
      refuse(request, partition.code);
      return;
    }
    reply(
      request,
      encodeResponse(getPartitionRoute, {
        incarnation: BigInt(partition.incarnation),
        metadataOp: BigInt(machine.appliedOp),
        view: 0,
        partitionsCount: partition.topic.partitions.length,
        primaryReplica: 0,
      }),
    );
  }

  #send(request: FakeRequest, binding: Binding): void {
    const { streamId, topicId, partitioning, batch } = decodeRequest(sendMessages, request.body);
    if (partitioning.kind !== "partition_id") {
      refuse(request, ErrorCode.FeatureUnavailable);
      return;
    }
    const place = this.#place(request, binding, "send", streamId, topicId, partitioning.partitionId);
    if (place === undefined) return;
    const { partition, log } = place;
    this.#commitOnce(request, place, () => {
      const baseOffset = BigInt(log.append(batch, this.#settings.nowMicros()));
      const { id, stream } = partition.topic;
      const confirmation = { streamId: stream.id, topicId: id, partitionId: partition.partitionId, baseOffset };
      return encodeResponse(sendMessages, { confirmations: [confirmation] });
    });
    for (const waiting of [...this.#waiting]) if (waiting.answer(false)) this.#stop(waiting);
  }

  #poll(
    request: FakeRequest,
    binding: Binding,
    poll: PollRequest,
    waitMs: number,
    minCount: number,
    maxBytes: number,
  ): void {
    const place = this.#place(request, binding, "poll", poll.streamId, poll.topicId, poll.partitionId ?? 0);
    if (place === undefined) return;
    const reader = this.#reader(place, poll.consumer, binding);
    if (typeof reader === "number") {
      refuse(request, reader);
      return;
    }
    const { partition, log } = place;
    const start = startOf(log, poll.strategy, poll.count, reader);
    const answer = (whatever: boolean): boolean => {
      const read = log.read(start(), poll.count, maxBytes);
      if (read.count < minCount && !whatever) return false;
      this.#delivered(log, reader, read, poll.autoCommit);
      reply(
        request,
        encodeResponse(pollMessagesDeferred, {
          partitionId: log.partitionId,
          currentOffset: BigInt(log.currentOffset),
          messagesCount: read.count,
          context: this.#context(partition, reader),
          records: read.records,
        }),
      );
      return true;
    };
    this.#answerOrWait(request, waitMs, answer);
  }

  #fetch(request: FakeRequest, binding: Binding): void {
    const fetch = decodeRequest(fetchMessages, request.body);
    const targets = fetch.targets.map((target) => this.#fetchTarget(fetch, target, binding));
    const answer = (whatever: boolean): boolean => {
      let left = fetch.count;
      const reads = targets.map((target) => {
        if (typeof target === "number") return undefined;
        const read = target.place.log.read(target.start(), left, target.maxBytes);
        left -= read.count;
        return read;
      });
      // A partition that can not be read is told at once.
      const mayWait = !whatever && !targets.some((target) => typeof target === "number");
      if (mayWait && fetch.count - left < fetch.minCount) return false;
      const sections = targets.map((target, index) => {
        const read = reads[index];
        const { partitionId } = fetch.targets[index] ?? { partitionId: 0 };
        if (typeof target === "number" || read === undefined) return refusedSection(partitionId, Number(target));
        this.#delivered(target.place.log, target.reader, read, fetch.autoCommit);
        return {
          partitionId,
          status: 0,
          currentOffset: BigInt(target.place.log.currentOffset),
          messagesCount: read.count,
          context: this.#context(target.place.partition, target.reader),
          nextOffset: BigInt(read.next),
          recordsLen: read.records.length,
        };
      });
      const records = joined(reads.flatMap((read) => (read === undefined ? [] : [read.records])));
      reply(request, encodeResponse(fetchMessages, { sections, records }));
      return true;
    };
    this.#answerOrWait(request, Number(fetch.waitUs) / 1000, answer);
  }

  /** Where a target of a fetch is read, and from where; a number is its refusal. */
  #fetchTarget(fetch: FetchMessagesRequest, target: FetchTarget, binding: Binding) {
    const machine = this.#settings.machine();
    const partition = machine.resolvePartition(fetch.streamId, fetch.topicId, target.partitionId);
    if (partition instanceof Refusal) return partition.code;
    if (!mayDo(machine, binding, "poll", partition)) return ErrorCode.Unauthorized;
    if (BigInt(partition.incarnation) !== target.incarnation) return ErrorCode.HistoryUnavailable;
    const place = { partition, log: this.log(partition) };
    const reader = this.#reader(place, fetch.consumer, binding);
    if (typeof reader === "number") return reader;
    const start = startOf(place.log, target.strategy, fetch.count, reader);
    return { place, reader, start, maxBytes: target.maxBytes };
  }

  #answerOrWait(request: FakeRequest, waitMs: number, answer: (whatever: boolean) => boolean): void {
    if (answer(waitMs === 0)) return;
    if (this.#waiting.size >= maxWaiting) {
      refuse(request, ErrorCode.DeferredPollCapacityExceeded);
      return;
    }
    const waiting: Waiting = {
      wire: request.wire,
      request: request.header.request,
      answer,
      cancel: () => refuse(request, ErrorCode.TransientNotAccepted),
      timer: setTimeout(() => {
        this.#stop(waiting);
        answer(true);
      }, waitMs),
    };
    this.#waiting.add(waiting);
  }

  #stop(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
  }

  #getOffset(request: FakeRequest, binding: Binding): void {
    const { consumer, streamId, topicId, partitionId } = decodeRequest(getConsumerOffset, request.body);
    const place = this.#place(request, binding, "poll", streamId, topicId, partitionId ?? 0);
    if (place === undefined) return;
    const key = this.#offsetKey(place, consumer);
    if (typeof key === "number") {
      refuse(request, key);
      return;
    }
    const { log } = place;
    const stored = log.offsets.get(key);
    if (stored === undefined) {
      reply(request);
      return;
    }
    const offsets = { currentOffset: BigInt(log.currentOffset), storedOffset: BigInt(stored) };
    reply(request, encodeResponse(getConsumerOffset, { partitionId: log.partitionId, ...offsets }));
  }

  #changeOffset(code: number, request: FakeRequest, binding: Binding): void {
    const isStore = code === storeConsumerOffset.code;
    const target = isStore
      ? decodeRequest(storeConsumerOffset, request.body)
      : { ...decodeRequest(deleteConsumerOffset, request.body), offset: undefined };
    const place = this.#place(request, binding, "poll", target.streamId, target.topicId, target.partitionId ?? 0);
    if (place === undefined) return;
    const key = this.#offsetKey(place, target.consumer);
    if (typeof key === "number") {
      refuse(request, key);
      return;
    }
    const { log } = place;
    if (target.offset !== undefined && target.offset >= BigInt(log.count)) {
      refuse(request, ErrorCode.InvalidOffset);
      return;
    }
    this.#commitOnce(request, place, () => {
      if (target.offset === undefined) log.offsets.delete(key);
      else log.offsets.set(key, Number(target.offset));
      return new Uint8Array(0);
    });
    this.#settings.onProgress();
  }

  /** A write that comes again gets the answer that it got before. */
  #commitOnce(request: FakeRequest, { log }: Place, write: () => Uint8Array): void {
    const { header, wire } = request;
    const key = `${String(header.client)}/${String(header.request)}`;
    let answer = log.receipt(key);
    if (answer === undefined) {
      const payload = write();
      const result = { op: 1, timestampMicros: this.#settings.nowMicros(), operation: header.operation };
      answer = committedReply(request, result, 0, payload);
      log.remember(key, answer);
    }
    wire.write(answer);
  }

  /** Where the request goes; refused when there is no such place, or not for this user. */
  #place(
    request: FakeRequest,
    binding: Binding,
    right: Right,
    streamId: Identifier,
    topicId: Identifier,
    partitionId: number,
  ): Place | undefined {
    const machine = this.#settings.machine();
    const partition = machine.resolvePartition(streamId, topicId, partitionId);
    if (partition instanceof Refusal) refuse(request, partition.code);
    else if (!mayDo(machine, binding, right, partition)) refuse(request, ErrorCode.Unauthorized);
    else if (request.header.partitionIncarnation !== partition.incarnation) {
      refuse(request, ErrorCode.HistoryUnavailable);
    } else return { partition, log: this.log(partition) };
    return undefined;
  }

  /** Who reads; a number is the refusal. */
  #reader(place: Place, consumer: Consumer, { client }: Binding): Reader | number {
    if (consumer.kind === "external_group") return ErrorCode.FeatureUnavailable;
    if (consumer.kind === "consumer") return { key: consumerKey(consumer.id), groupId: undefined, generation: 0 };
    const machine = this.#settings.machine();
    const group = machine.resolveGroup(place.partition.topic, consumer.id);
    if (group instanceof Refusal) return group.code;
    if (!machine.mayPoll(place.partition, group.id, client)) return ErrorCode.ConsumerGroupPartitionNotOwned;
    const generation = machine.owner(place.partition, group.id)?.generation ?? 0;
    return { key: groupKey(group.id), groupId: group.id, generation };
  }

  #offsetKey({ partition }: Place, consumer: Consumer): string | number {
    if (consumer.kind === "consumer") return consumerKey(consumer.id);
    if (consumer.kind === "external_group") return `external/${consumerKey(consumer.id)}`;
    const group = this.#settings.machine().resolveGroup(partition.topic, consumer.id);
    return group instanceof Refusal ? group.code : groupKey(group.id);
  }

  #delivered(log: FakePartition, { key, groupId }: Reader, read: FakeRead, commits: boolean): void {
    if (read.count === 0) return;
    if (groupId !== undefined) log.delivered.set(groupId, read.next - 1);
    if (commits) log.offsets.set(key, read.next - 1);
  }

  #context(partition: Partition, { generation }: Reader) {
    return {
      incarnation: BigInt(partition.incarnation),
      ownerGeneration: BigInt(generation),
      metadataOp: BigInt(this.#settings.machine().appliedOp),
    };
  }
}

const nameOf = ({ streamId, topicId, partitionId, incarnation }: PartitionKey): string =>
  [streamId, topicId, partitionId, incarnation].join("/");

const groupKey = (groupId: number): string => `group/${String(groupId)}`;
const consumerKey = (id: Identifier): string => `${id.kind}/${String(id.value)}`;

/** Where a read starts. What "next" means is settled when it is answered, everything else when it comes. */
function startOf(log: FakePartition, strategy: PollingStrategy, count: number, { key }: Reader): () => number {
  if (strategy.kind === "next") return () => log.startOf(strategy, count, log.offsets.get(key));
  const start = log.startOf(strategy, count, undefined);
  return () => start;
}

const mayDo = (machine: MetadataMachine, { userId }: Binding, right: Right, { topic }: Partition): boolean =>
  machine.mayDo(userId, right, topic.stream.id, topic.id);

const refusedSection = (partitionId: number, status: number) => ({
  partitionId,
  status,
  currentOffset: 0n,
  messagesCount: 0,
  context: { incarnation: 0n, ownerGeneration: 0n, metadataOp: 0n },
  nextOffset: 0n,
  recordsLen: 0,
});

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
