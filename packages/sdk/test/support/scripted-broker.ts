import {
  cancelDeferredRequest,
  createConsumerGroup,
  decodeRequest,
  deleteConsumerOffset,
  encodeResponse,
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
import { ScriptedPartition } from "./poll-replies.js";
import { type Received, ScriptedNode } from "./scripted-node.js";

interface Parked {
  readonly received: Received;
  readonly timer: ReturnType<typeof setTimeout>;
}

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
    const refusal = this.refusals.get(partitionId)?.shift();
    if (refusal !== undefined) {
      this.refuse(received, refusal);
      return;
    }
    if (poll.consumer.kind === "consumer_group" && !(this.isMember && this.assigned.includes(partitionId))) {
      this.refuse(received, 5009);
      return;
    }
    const parked: Parked = {
      received,
      timer: setTimeout(() => this.#unpark(parked, true), Number(waitUs) / 1000),
    };
    this.#parked.push(parked);
    if (!this.#tryServe(parked) && waitUs === 0n) this.#unpark(parked, true);
  }

  #tryServe(parked: Parked): boolean {
    const { poll } = decodeRequest(pollMessagesDeferred, parked.received.body);
    const partition = this.partitions[poll.partitionId ?? 0];
    if (partition === undefined) return false;
    const from = this.#startOf(parked.received);
    if (!partition.batches.some(({ base }) => base >= from)) return false;
    this.#unpark(parked, true);
    return true;
  }

  #startOf(received: Received): number {
    const { poll } = decodeRequest(pollMessagesDeferred, received.body);
    if (poll.strategy.kind === "offset") return Number(poll.strategy.value);
    if (poll.strategy.kind === "next") return (this.stored.get(poll.partitionId ?? 0) ?? -1) + 1;
    return 0;
  }

  #unpark(parked: Parked, serve: boolean): void {
    clearTimeout(parked.timer);
    this.#parked = this.#parked.filter((other) => other !== parked);
    if (!serve) {
      this.refuse(parked.received, 58);
      return;
    }
    const { poll } = decodeRequest(pollMessagesDeferred, parked.received.body);
    const partition = this.partitions[poll.partitionId ?? 0];
    if (partition === undefined) return;
    const body = partition.reply(this.#startOf(parked.received), poll.count);
    const count = new DataView(body.buffer).getUint32(12, true);
    const last = this.#startOf(parked.received) + count - 1;
    if (poll.autoCommit && count > 0) this.stored.set(partition.partitionId, last);
    this.reply(parked.received, body);
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
