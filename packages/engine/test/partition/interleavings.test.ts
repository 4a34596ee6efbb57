import { ErrorCode, Operation } from "@iggy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  commitOnReadClient,
  encodeOffsetWrite,
  type OffsetKey,
  PartitionMachine,
  type PartitionPrepare,
  readBatchFacts,
} from "@iggy/engine";
import { batchHeader, facts, limits, type ProducerFields, recovered } from "./log.js";

interface Send {
  readonly client: bigint;
  readonly request: number;
  readonly messagesCount: number;
  readonly producer: ProducerFields | undefined;
}

interface Ordered {
  readonly prepare: PartitionPrepare;
  readonly send: Send | undefined;
}

const batchKey = ({ producer, messagesCount }: Send): string | undefined =>
  producer === undefined ? undefined : `${producer.id}/${producer.epoch}/${producer.sequence}/${messagesCount}`;
const requestKey = ({ client, request }: { client: bigint; request: number }): string => `${client}/${request}`;

/** A primary of a group of one with a pipeline, beside a model that knows what was written and answered. */
class Primary {
  machine = new PartitionMachine(facts, limits);
  private readonly log: PartitionPrepare[] = [];
  private pipeline: Ordered[] = [];
  private checkpoint: Uint8Array | undefined;
  private time = 0;
  private readonly sends: Send[] = [];
  private readonly requests = new Map<bigint, number>();
  private readonly producers = new Map<bigint, { epoch: number; next: number }>();
  /** What the model knows: first offset by request and by producer batch, and the length of the log. */
  private readonly firstOffset = new Map<string, number>();
  private readonly batchOffset = new Map<string, number>();
  private end = 0;

  send(client: bigint, messagesCount: number, producer: { id: bigint; newEpoch: boolean } | undefined): void {
    const request = (this.requests.get(client) ?? 0) + 1;
    this.requests.set(client, request);
    const section = producer === undefined ? undefined : this.section(producer.id, producer.newEpoch, messagesCount);
    const send = { client, request, messagesCount, producer: section };
    this.sends.push(send);
    this.offer(send);
  }

  /** The same frame again. */
  retry(index: number): void {
    const send = this.sends[index % Math.max(1, this.sends.length)];
    if (send !== undefined) this.offer(send);
  }

  /** The same batch of a producer under a new request number. */
  resend(index: number): void {
    const send = this.sends[index % Math.max(1, this.sends.length)];
    if (send?.producer === undefined) return;
    const request = (this.requests.get(send.client) ?? 0) + 1;
    this.requests.set(send.client, request);
    this.offer({ ...send, request });
  }

  store(client: bigint, key: OffsetKey, offset: number): void {
    const request = (this.requests.get(client) ?? 0) + 1;
    this.requests.set(client, request);
    const caller = { client, session: 1, request };
    const admission = this.machine.admitStore(caller, key, offset);
    if (offset >= this.machine.nextOffset && admission.kind === "accept") throw new Error("stored behind the end");
    if (admission.kind !== "accept") return;
    this.machine.orderedOffset(caller, key, offset, false);
    this.order(Operation.StoreConsumerOffset, this.offsetBody(key, offset), client, request, undefined);
  }

  commitOnRead(key: OffsetKey, lastOffset: number): void {
    if (lastOffset >= this.machine.nextOffset) return;
    const before = this.machine.offsets.visible(key);
    if (this.machine.admitCommitOnRead({ key, lastOffset }) !== "store") return;
    const caller = { client: commitOnReadClient, session: 0, request: 0 };
    this.machine.orderedOffset(caller, key, lastOffset, true);
    expect(this.machine.offsets.visible(key)).toBe(lastOffset);
    expect(before ?? -1).toBeLessThanOrEqual(Math.max(lastOffset, before ?? -1));
    this.order(Operation.StoreConsumerOffset, this.offsetBody(key, lastOffset), commitOnReadClient, 0, undefined);
  }

  commitNext(): void {
    const next = this.pipeline.shift();
    if (next === undefined) return;
    const applied = this.machine.commit(next.prepare);
    this.log.push(next.prepare);
    if (next.send === undefined) return;
    // Offsets are dense, and neither a request nor a producer's batch is written twice.
    expect(applied.baseOffset).toBe(this.end);
    this.end += next.send.messagesCount;
    expect(this.firstOffset.has(requestKey(next.send))).toBe(false);
    this.firstOffset.set(requestKey(next.send), applied.baseOffset);
    const key = batchKey(next.send);
    if (key === undefined) return;
    expect(this.batchOffset.has(key)).toBe(false);
    this.batchOffset.set(key, applied.baseOffset);
  }

  takeCheckpoint(): void {
    this.checkpoint = this.machine.checkpoint();
  }

  /** Uncommitted operations are lost; the state comes from the checkpoint and the log behind it. */
  restart(): void {
    const before = this.machine.checkpoint();
    this.machine = recovered(this.checkpoint, this.log);
    expect(this.machine.checkpoint()).toEqual(before);
    expect(recovered(undefined, this.log).checkpoint()).toEqual(before);
    this.pipeline = [];
  }

  finish(): void {
    while (this.pipeline.length > 0) this.commitNext();
    this.restart();
    expect(this.machine.nextOffset).toBe(this.end);
    expect(this.machine.assignableOffset).toBe(this.end);
  }

  private section(id: bigint, newEpoch: boolean, messagesCount: number): ProducerFields {
    const known = this.producers.get(id) ?? { epoch: 0, next: 0 };
    const state = newEpoch ? { epoch: known.epoch + 1, next: 0 } : known;
    this.producers.set(id, { epoch: state.epoch, next: state.next + messagesCount });
    return { id, epoch: state.epoch, sequence: state.next };
  }

  private offer(send: Send): void {
    const { client, request } = send;
    const body = batchHeader(this.machine.assignableOffset, send.messagesCount, send.producer);
    const batch = readBatchFacts(body);
    const caller = { client, session: 1, request };
    const admission = this.machine.admitSend(caller, batch, true, this.time + 10);
    switch (admission.kind) {
      case "accept":
        this.machine.orderedSend(caller, batch);
        this.order(Operation.SendMessages, body, client, request, send);
        return;
      case "replay":
        expect(admission.receipt.baseOffset).toBe(this.firstOffset.get(requestKey(send)));
        return;
      case "duplicate":
        expect(admission.batch.baseOffset).toBe(this.batchOffset.get(batchKey(send) ?? ""));
        return;
      case "pending":
        expect(
          this.pipeline.some((entry) => entry.send !== undefined && requestKey(entry.send) === requestKey(send)),
        ).toBe(true);
        return;
      case "refuse":
        if (admission.code === ErrorCode.RequestAlreadyApplied)
          expect(this.firstOffset.has(requestKey(send))).toBe(true);
        if (admission.code === ErrorCode.ProducerUnknown) expect(send.producer?.sequence).not.toBe(0);
    }
  }

  private order(operation: number, body: Uint8Array, client: bigint, request: number, send: Send | undefined): void {
    const op = this.machine.appliedOp + this.pipeline.length + 1;
    this.time += 10;
    const session = client === commitOnReadClient ? 0 : 1;
    const prepare = {
      op,
      view: 0,
      timestampMicros: this.time,
      checksum: BigInt(op),
      operation,
      client,
      session,
      request,
    };
    this.pipeline.push({ prepare: { ...prepare, requestChecksum: 0n, body }, send });
  }

  private offsetBody(key: OffsetKey, offset: number): Uint8Array {
    return encodeOffsetWrite(facts, { key, offset, ownerGeneration: 0 }, "quorum");
  }
}

describe("a partition under any interleaving of writes, retries, commits and restarts", () => {
  const client = fc.bigInt({ min: 1n, max: 5n });
  const key = fc.record({
    kind: fc.constantFrom("consumer" as const, "external_group" as const),
    id: fc.integer({ min: 1, max: 4 }),
  });
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constant("send" as const), client, fc.integer({ min: 1, max: 5 })) },
    {
      weight: 8,
      arbitrary: fc.tuple(fc.constant("produce" as const), client, fc.integer({ min: 1, max: 3 }), fc.nat(20)),
    },
    { weight: 5, arbitrary: fc.tuple(fc.constant("retry" as const), fc.nat(1000)) },
    { weight: 5, arbitrary: fc.tuple(fc.constant("resend" as const), fc.nat(1000)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant("store" as const), client, key, fc.nat(30)) },
    { weight: 3, arbitrary: fc.tuple(fc.constant("commit-on-read" as const), key, fc.nat(30)) },
    { weight: 12, arbitrary: fc.tuple(fc.constant("commit" as const)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("checkpoint" as const)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("restart" as const)) },
  );

  it("numbers messages densely, writes nothing twice, and recovers the same state", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const primary = new Primary();
        for (const entry of steps) {
          switch (entry[0]) {
            case "send":
              primary.send(entry[1], entry[2], undefined);
              break;
            case "produce":
              primary.send(entry[1], entry[2], { id: entry[1] * 100n, newEpoch: entry[3] === 0 });
              break;
            case "retry":
              primary.retry(entry[1]);
              break;
            case "resend":
              primary.resend(entry[1]);
              break;
            case "store":
              if (entry[2].kind === "consumer") primary.store(entry[1], entry[2], entry[3]);
              break;
            case "commit-on-read":
              primary.commitOnRead(entry[1], entry[2]);
              break;
            case "commit":
              primary.commitNext();
              break;
            case "checkpoint":
              primary.takeCheckpoint();
              break;
            case "restart":
              primary.restart();
          }
        }
        primary.finish();
      }),
      { numRuns: 300 },
    );
  });
});
