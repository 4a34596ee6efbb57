import {
  cancelDeferredRequest,
  createConsumerGroup,
  decodeRequest,
  deleteConsumerOffset,
  encodeResponse,
  fetchMessages,
  getConsumerGroup,
  getConsumerOffset,
  getStream,
  getTopic,
  joinConsumerGroup,
  leaveConsumerGroup,
  MessageCursor,
  pollMessagesDeferred,
  sendMessages,
  storeConsumerOffset,
  syncConsumerGroup,
} from "@iggy/protocol";
import { concat } from "./memory-network.js";
import { ScriptedPartition } from "./poll-replies.js";
import { type Received, ScriptedNode } from "./scripted-node.js";

interface ReadTarget {
  readonly partitionId: number;
  readonly strategy: { readonly kind: string; readonly value: bigint };
}

/** A read that waits for messages: of one partition, or of several in one request. */
interface Parked {
  readonly received: Received;
  readonly targets: readonly ReadTarget[];
  readonly count: number;
  readonly autoCommit: boolean;
  /** Targets that were refused at once. */
  readonly refused: ReadonlyMap<number, number>;
  readonly timer: ReturnType<typeof setTimeout>;
}

const emptySection = {
  currentOffset: 0n,
  messagesCount: 0,
  context: { incarnation: 0n, ownerGeneration: 0n, metadataOp: 0n },
  nextOffset: 0n,
  recordsLen: 0,
};

/** A node with one stream, one topic and one group: sends append, polls wait, offsets are kept. */
export class ScriptedBroker extends ScriptedNode {
  readonly partitions: ScriptedPartition[];
  /** Stored offsets by partition; one consumer is enough for these tests. */
  readonly stored = new Map<number, number>();
  /** Every store that was committed, in order. */
  readonly stores: { readonly partitionId: number; readonly offset: number }[] = [];
  streamExists = true;
  topicExists = true;
  groupExists = true;
  isMember = false;
  generation = 1n;
  assigned: number[] = [];
  /** Refuses the next polls of a partition with a code. */
  readonly refusals = new Map<number, number[]>();
  #parked: Parked[] = [];

  constructor(partitionsCount = 1) {
    super();
    this.partitions = Array.from({ length: partitionsCount }, (_, id) => new ScriptedPartition(id));
    this.partitionsCount = partitionsCount;
    this.assigned = this.partitions.map(({ partitionId }) => partitionId);
    this.handler = (received) => this.serve(received);
  }

  append(partitionId: number, ...texts: string[]): void {
    this.partitions[partitionId]?.appendTexts(...texts);
    for (const parked of [...this.#parked]) this.#tryServe(parked);
  }

  /** Reads that came, grouped ones and those of one partition. */
  get reads(): Received[] {
    return this.received.filter(({ code }) => code === fetchMessages.code || code === pollMessagesDeferred.code);
  }

  get waiting(): number {
    return this.#parked.length;
  }

  /** Another assignment: a new generation, and new owners that old contexts do not fit. */
  assign(partitions: number[]): void {
    this.assigned = partitions;
    this.generation++;
    for (const partition of this.partitions) partition.ownerGeneration = this.generation;
  }

  serve(received: Received): void {
    switch (received.code) {
      case getStream.code:
        this.reply(received, this.streamExists ? namedHeader("stream") : undefined);
        return;
      case getTopic.code:
        this.reply(received, this.topicExists ? this.#topic() : undefined);
        return;
      case sendMessages.code:
        this.#append(received);
        return;
      case pollMessagesDeferred.code:
        this.#poll(received);
        return;
      case fetchMessages.code:
        this.#fetch(received);
        return;
      case cancelDeferredRequest.code:
        this.#cancel(received);
        return;
      case getConsumerOffset.code:
        this.#getOffset(received);
        return;
      case storeConsumerOffset.code:
        this.#storeOffset(received);
        return;
      case deleteConsumerOffset.code:
        this.stored.delete(decodeRequest(deleteConsumerOffset, received.body).partitionId ?? 0);
        this.commit(received);
        return;
      case getConsumerGroup.code:
        this.reply(received, this.groupExists ? this.#group() : undefined);
        return;
      case createConsumerGroup.code:
        this.groupExists = true;
        this.commit(received, this.#group());
        return;
      case joinConsumerGroup.code:
        this.isMember = true;
        this.commit(received);
        return;
      case leaveConsumerGroup.code:
        this.isMember = false;
        this.commit(received);
        return;
      case syncConsumerGroup.code:
        this.reply(received, this.isMember ? this.#assignment() : undefined);
        return;
      default:
        this.answer(received);
    }
  }

  #append(received: Received): void {
    const { partitioning, batch } = decodeRequest(sendMessages, received.body);
    const partitionId = partitioning.kind === "partition_id" ? partitioning.partitionId : 0;
    const partition = this.partitions[partitionId];
    const baseOffset = BigInt(partition?.next ?? 0);
    const messages = [];
    const cursor = new MessageCursor().records(batch);
    while (cursor.next()) messages.push({ id: cursor.id, payload: new Uint8Array(cursor.payload), originTimestamp: 1 });
    partition?.append(messages);
    this.commit(
      received,
      encodeResponse(sendMessages, { confirmations: [{ streamId: 1, topicId: 1, partitionId, baseOffset }] }),
    );
    for (const parked of [...this.#parked]) this.#tryServe(parked);
  }

  #poll(received: Received): void {
    const { poll, waitUs } = decodeRequest(pollMessagesDeferred, received.body);
    const partitionId = poll.partitionId ?? 0;
    const refusal = this.#refusalOf(partitionId, poll.consumer.kind);
    if (refusal !== 0) this.refuse(received, refusal);
    else this.#park(received, [{ partitionId, strategy: poll.strategy }], poll, waitUs);
  }

  #fetch(received: Received): void {
    const request = decodeRequest(fetchMessages, received.body);
    const refused = new Map<number, number>();
    for (const { partitionId } of request.targets) {
      const code = this.#refusalOf(partitionId, request.consumer.kind);
      if (code !== 0) refused.set(partitionId, code);
    }
    // A target that fails ends the wait of all.
    const waitUs = refused.size > 0 ? 0n : request.waitUs;
    this.#park(received, request.targets, request, waitUs, refused);
  }

  /** The code that a read of a partition is refused with now; 0 when it is served. */
  #refusalOf(partitionId: number, kind: string): number {
    const refusal = this.refusals.get(partitionId)?.shift();
    if (refusal !== undefined) return refusal;
    return kind === "consumer_group" && !(this.isMember && this.assigned.includes(partitionId)) ? 5009 : 0;
  }

  #park(
    received: Received,
    targets: readonly ReadTarget[],
    { count, autoCommit }: { readonly count: number; readonly autoCommit: boolean },
    waitUs: bigint,
    refused: ReadonlyMap<number, number> = new Map(),
  ): void {
    const timer = setTimeout(() => this.#unpark(parked, true), Number(waitUs) / 1000);
    const parked: Parked = { received, targets, count, autoCommit, refused, timer };
    this.#parked.push(parked);
    if (!this.#tryServe(parked) && waitUs === 0n) this.#unpark(parked, true);
  }

  #tryServe(parked: Parked): boolean {
    const isReady = parked.targets.some((target) => {
      const from = this.#startOf(target);
      return this.partitions[target.partitionId]?.batches.some(({ base, count }) => base + count > from) === true;
    });
    if (isReady) this.#unpark(parked, true);
    return isReady;
  }

  #startOf({ partitionId, strategy }: ReadTarget): number {
    if (strategy.kind === "offset") return Number(strategy.value);
    if (strategy.kind === "next") return (this.stored.get(partitionId) ?? -1) + 1;
    return 0;
  }

  #unpark(parked: Parked, serve: boolean): void {
    clearTimeout(parked.timer);
    this.#parked = this.#parked.filter((other) => other !== parked);
    if (!serve) this.refuse(parked.received, 58);
    else if (parked.received.code === fetchMessages.code) this.#serveFetch(parked);
    else this.#servePoll(parked);
  }

  #servePoll({ received, targets: [target], count, autoCommit }: Parked): void {
    const partition = this.partitions[target?.partitionId ?? 0];
    if (partition === undefined || target === undefined) return;
    const read = partition.read(this.#startOf(target), count);
    if (autoCommit && read.messagesCount > 0) this.stored.set(partition.partitionId, read.nextOffset - 1);
    this.reply(received, encodeResponse(pollMessagesDeferred, read));
  }

  #serveFetch({ received, targets, count, autoCommit, refused }: Parked): void {
    let left = count;
    const records: Uint8Array[] = [];
    const sections = targets.flatMap((target) => {
      const { partitionId } = target;
      const status = refused.get(partitionId);
      if (status !== undefined) return [{ ...emptySection, partitionId, status }];
      const partition = this.partitions[partitionId];
      if (partition === undefined) return [{ ...emptySection, partitionId, status: 3007 }];
      const read = partition.read(this.#startOf(target), left);
      left -= read.messagesCount;
      records.push(read.records);
      if (autoCommit && read.messagesCount > 0) this.stored.set(partitionId, read.nextOffset - 1);
      return [{ ...read, status: 0, nextOffset: BigInt(read.nextOffset), recordsLen: read.records.length }];
    });
    this.reply(received, encodeResponse(fetchMessages, { sections, records: concat(records) }));
  }

  #cancel({ request }: Received): void {
    const parked = this.#parked.find((other) => other.received.request === request);
    if (parked !== undefined) this.#unpark(parked, false);
  }

  #getOffset(received: Received): void {
    const partitionId = decodeRequest(getConsumerOffset, received.body).partitionId ?? 0;
    const stored = this.stored.get(partitionId);
    if (stored === undefined) this.reply(received);
    else {
      const currentOffset = BigInt(Math.max(0, (this.partitions[partitionId]?.next ?? 1) - 1));
      this.reply(
        received,
        encodeResponse(getConsumerOffset, { partitionId, currentOffset, storedOffset: BigInt(stored) }),
      );
    }
  }

  #storeOffset(received: Received): void {
    const { partitionId, offset, consumer } = decodeRequest(storeConsumerOffset, received.body);
    const partition = this.partitions[partitionId ?? 0];
    const owner = BigInt(received.header.ownerGeneration);
    if (consumer.kind === "consumer_group" && owner !== 0n && owner !== partition?.ownerGeneration) {
      this.refuse(received, 5009);
      return;
    }
    this.stored.set(partitionId ?? 0, Number(offset));
    this.stores.push({ partitionId: partitionId ?? 0, offset: Number(offset) });
    this.commit(received);
  }

  #topic(): Uint8Array {
    return encodeResponse(getTopic, {
      topic: {
        id: 1,
        createdAt: 0n,
        partitionsCount: this.partitionsCount,
        sizeBytes: 0n,
        messagesCount: 0n,
        name: "topic",
        options: [],
        derivedOptions: [],
      },
      partitions: this.partitions.map(({ partitionId }) => ({
        id: partitionId,
        createdAt: 0n,
        segmentsCount: 1,
        currentOffset: 0n,
        sizeBytes: 0n,
        messagesCount: 0n,
        context: { incarnation: 41n, ownerGeneration: 0n, metadataOp: 1n },
        members: [0],
        inSyncMembers: [0],
      })),
    });
  }

  #group(): Uint8Array {
    return encodeResponse(getConsumerGroup, {
      group: { id: 0, partitionsCount: this.partitionsCount, membersCount: 0, name: "group" },
      members: [],
    });
  }

  #assignment(): Uint8Array {
    return encodeResponse(syncConsumerGroup, { generation: this.generation, partitions: this.assigned });
  }
}

/** A stream or topic header without options. */
function namedHeader(name: string): Uint8Array {
  const text = new TextEncoder().encode(name);
  return Uint8Array.from([...new Uint8Array(32), text.length, ...text, ...new Uint8Array(8)]);
}
