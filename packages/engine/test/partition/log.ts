import { Operation } from "@iggy/protocol";
import {
  commitOnReadClient,
  encodeGroupRetirement,
  encodeHistoryEnd,
  encodeOffsetWrite,
  encodeOwner,
  encodeSessionRetirement,
  type OffsetKey,
  PartitionMachine,
  type PartitionPrepare,
  serverClient,
} from "@iggy/engine";

export const facts = { streamId: 1, topicId: 2, partitionId: 3, incarnation: 41 };
export const limits = { retryCapacity: 4, consumerOffsetsMax: 3 };

export interface ProducerFields {
  readonly id: bigint;
  readonly epoch: number;
  readonly sequence: number;
}

/** A stamped batch header without its messages, as recovery sees it. */
export function batchHeader(baseOffset: number, messagesCount: number, producer?: ProducerFields): Uint8Array {
  const bytes = new Uint8Array(256);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(facts.partitionId), true);
  view.setBigUint64(8, BigInt(baseOffset), true);
  view.setBigUint64(32, BigInt(256 + 48 * messagesCount), true);
  view.setUint32(48, messagesCount, true);
  if (producer !== undefined) {
    view.setUint8(52, 1);
    view.setBigUint64(56, producer.id, true);
    view.setUint16(64, producer.epoch, true);
    view.setUint32(68, producer.sequence, true);
  }
  return bytes;
}

/** Writes one operation after the other to a machine, as a group of one does: what is ordered commits at once. */
export class Log {
  readonly machine: PartitionMachine;
  readonly entries: PartitionPrepare[] = [];
  timestampMicros = 1_000;

  constructor(machine = new PartitionMachine(facts, limits)) {
    this.machine = machine;
  }

  prepare(operation: number, body: Uint8Array, from: Partial<PartitionPrepare> = {}): PartitionPrepare {
    const op = this.machine.appliedOp + 1;
    this.timestampMicros += 10;
    return {
      op,
      view: 0,
      timestampMicros: this.timestampMicros,
      checksum: BigInt(op) * 7n,
      operation,
      client: serverClient,
      session: 0,
      request: 0,
      requestChecksum: 0n,
      body,
      ...from,
    };
  }

  commit(prepare: PartitionPrepare) {
    this.entries.push(prepare);
    return this.machine.commit(prepare);
  }

  send(messagesCount: number, from: Partial<PartitionPrepare> = { client: 9n, session: 1, request: 1 }) {
    const body = batchHeader(this.machine.assignableOffset, messagesCount);
    return this.commit(this.prepare(Operation.SendMessages, body, from));
  }

  /** Stores an offset, or deletes it. */
  write(key: OffsetKey, offset: number | undefined, ownerGeneration = 0, from: Partial<PartitionPrepare> = {}) {
    const operation = offset === undefined ? Operation.DeleteConsumerOffset : Operation.StoreConsumerOffset;
    return this.commit(
      this.prepare(operation, encodeOffsetWrite(facts, { key, offset, ownerGeneration }, "quorum"), from),
    );
  }

  commitOnRead(key: OffsetKey, offset: number, ownerGeneration = 0) {
    return this.write(key, offset, ownerGeneration, { client: commitOnReadClient });
  }

  install(groupId: number, client: bigint, session: number, generation: number) {
    const body = encodeOwner({
      incarnation: facts.incarnation,
      groupId,
      owner: { client, session, generation },
      metadataOp: generation,
    });
    return this.commit(this.prepare(Operation.InstallConsumerGroupOwner, body));
  }

  retireGroups(nextGroupId: number, live: readonly number[]) {
    const body = encodeGroupRetirement({ incarnation: facts.incarnation, metadataOp: 1, nextGroupId, live });
    return this.commit(this.prepare(Operation.RetireConsumerGroupOwners, body));
  }

  endHistory() {
    return this.commit(this.prepare(Operation.TransitionPartitionHistory, encodeHistoryEnd(facts.incarnation, 90)));
  }

  retireSession(client: bigint, session: number) {
    const body = encodeSessionRetirement({
      paidThrough: 0,
      sessions: [{ client, session, metadataWatermark: session }],
    });
    return this.commit(this.prepare(Operation.RetireSession, body));
  }
}

/** What a restart of the same log gives: the checkpoint, then the entries behind it. */
export function recovered(checkpoint: Uint8Array | undefined, entries: readonly PartitionPrepare[]): PartitionMachine {
  const machine = new PartitionMachine(facts, limits);
  if (checkpoint !== undefined) machine.restore(checkpoint);
  for (const entry of entries) if (entry.op > machine.appliedOp) machine.commit(entry);
  return machine;
}
