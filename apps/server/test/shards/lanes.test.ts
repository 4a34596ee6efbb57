import { MessageChannel } from "node:worker_threads";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLane, LaneConsumer, LaneProducer, RECORD_BYTES_MAX } from "../../src/shards/lanes/lane.js";
import { Outbox } from "../../src/shards/lanes/outbox.js";
import {
  BodyImporter,
  createArena,
  CopyingExporter,
  REFERENCE_BYTES_MAX,
  ReferringExporter,
} from "../../src/shards/lanes/transfer.js";

/** A record of the tests: its number, then as many bytes of its last digit. */
function push(producer: LaneProducer, id: number, length: number): boolean {
  const record = producer.begin(8 + length);
  if (record === undefined) return false;
  record.u32(id);
  record.u32(length);
  record.raw(new Uint8Array(length).fill(id % 251));
  producer.commit();
  return true;
}

function take(consumer: LaneConsumer): { readonly id: number; readonly bytes: Uint8Array } | undefined {
  const record = consumer.next();
  if (record === undefined) return undefined;
  const id = record.u32();
  const bytes = record.raw(record.u32());
  consumer.release();
  return { id, bytes };
}

describe("a lane", () => {
  it("gives the records in order and whole, whatever the interleaving, also behind the end of its ring", () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant("push" as const), length: fc.integer({ min: 0, max: RECORD_BYTES_MAX - 8 }) }),
        fc.record({ kind: fc.constant("push" as const), length: fc.integer({ min: 0, max: 100 }) }),
        fc.record({ kind: fc.constant("take" as const), length: fc.constant(0) }),
      ),
      { maxLength: 400 },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 64 }), (script, capacity) => {
        const memory = createLane(capacity);
        const producer = new LaneProducer(memory);
        const consumer = new LaneConsumer(memory);
        const model: { id: number; length: number }[] = [];
        let id = 0;
        const takeOne = (): void => {
          const expected = model.shift();
          const found = take(consumer);
          expect(found?.id).toBe(expected?.id);
          if (found === undefined || expected === undefined) return;
          expect(found.bytes.length).toBe(expected.length);
          expect(found.bytes.every((byte) => byte === expected.id % 251)).toBe(true);
        };
        for (const { kind, length } of script) {
          if (kind === "take") takeOne();
          else if (push(producer, id, length)) model.push({ id: id++, length });
          else expect(model.length).toBeGreaterThan(0);
          expect(model.length).toBeLessThanOrEqual(capacity);
        }
        while (model.length > 0) takeOne();
        expect(consumer.next()).toBeUndefined();
        expect(consumer.isEmpty).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("takes exactly as many records as its capacity says, and one more once one was read", () => {
    const memory = createLane(3);
    const producer = new LaneProducer(memory);
    const consumer = new LaneConsumer(memory);
    expect([0, 1, 2, 3].map((id) => push(producer, id, 4))).toEqual([true, true, true, false]);
    expect(take(consumer)?.id).toBe(0);
    expect(push(producer, 3, 4)).toBe(true);
    expect([take(consumer)?.id, take(consumer)?.id, take(consumer)?.id, take(consumer)]).toEqual([1, 2, 3, undefined]);
  });

  it("goes on when its positions pass 2^32", { timeout: 60_000 }, () => {
    const memory = createLane(1024);
    const producer = new LaneProducer(memory);
    const consumer = new LaneConsumer(memory);
    const rounds = Math.ceil(2 ** 32 / RECORD_BYTES_MAX) + 1000;
    for (let id = 0; id < rounds; id++) {
      const record = producer.begin(RECORD_BYTES_MAX);
      if (record === undefined) throw new Error("no room in an empty lane");
      record.u32(id);
      record.offset += RECORD_BYTES_MAX - 4;
      producer.commit();
      if (consumer.next()?.u32() !== id) throw new Error(`record ${id} was not read`);
      consumer.release();
    }
    expect(consumer.isEmpty).toBe(true);
  });

  it("refuses a record that no lane takes", () => {
    expect(() => new LaneProducer(createLane(4)).begin(RECORD_BYTES_MAX + 1)).toThrow(RangeError);
  });
});

describe("an outbox", () => {
  it("keeps what finds no room, in order, and sends it when the other side has taken something", () => {
    const memory = createLane(2);
    const consumer = new LaneConsumer(memory);
    let wakes = 0;
    const { port1, port2 } = new MessageChannel();
    const exporter = new CopyingExporter(createArena(1024), port1);
    const outbox = new Outbox(new LaneProducer(memory), exporter, () => wakes++);
    const send = (id: number): void => {
      const record = outbox.begin(12);
      record.u32(id);
      record.u32(0);
      outbox.commit();
    };
    for (let id = 0; id < 7; id++) send(id);
    expect(outbox.backlog).toBe(5);
    expect(outbox.offer(8)).toBeUndefined();
    expect(wakes).toBe(2);
    const taken: number[] = [];
    while (taken.length < 7) {
      for (let record = take(consumer); record !== undefined; record = take(consumer)) taken.push(record.id);
      expect(consumer.takeWaitingProducer()).toBe(taken.length < 7);
      outbox.flush();
    }
    expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(outbox.backlog).toBe(0);
    expect(consumer.takeWaitingProducer()).toBe(false);
    port1.close();
    port2.close();
  });
});

describe("bodies beside a lane", () => {
  it("arrive whole and in order, whether they fit the record, the arena or neither", async () => {
    const lengths = fc.array(fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 20_000 })), {
      minLength: 1,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(lengths, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (bodies, takes) => {
        const { port1, port2 } = new MessageChannel();
        const memory = createLane(8);
        const arena = createArena(16 * 1024);
        const producer = new LaneProducer(memory);
        const consumer = new LaneConsumer(memory);
        const exporter = new CopyingExporter(arena, port1);
        const importer = new BodyImporter(arena, port2);
        let released = 0;
        const held = { bytes: new Uint8Array(0), retain: () => undefined, release: () => (released += 1) };
        const sent: number[] = [];
        let seen = 0;
        const takeOne = (): boolean => {
          const record = consumer.next();
          if (record === undefined) return false;
          const { pieces } = importer.receive(record);
          consumer.release();
          const bytes = Buffer.concat(pieces);
          expect(bytes.length).toBe(sent[seen]);
          expect(bytes.every((byte) => byte === seen % 251)).toBe(true);
          seen++;
          return true;
        };
        bodies.forEach((length, at) => {
          let record = producer.begin(REFERENCE_BYTES_MAX);
          while (record === undefined) {
            takeOne();
            record = producer.begin(REFERENCE_BYTES_MAX);
          }
          const bytes = new Uint8Array(length).fill(at % 251);
          const cut = Math.floor(length / 3);
          exporter.send(record, [bytes.subarray(0, cut), bytes.subarray(cut)], [held]);
          producer.commit();
          sent.push(length);
          if (takes[at] === true) takeOne();
        });
        while (takeOne());
        expect(seen).toBe(bodies.length);
        expect(released).toBe(bodies.length);
        port1.close();
        port2.close();
        return Promise.resolve();
      }),
      { numRuns: 100 },
    );
  });
});

describe("bodies in a pool that both sides see", () => {
  it("are handed over with their blocks; what lies elsewhere is copied, and everything arrives in order", () => {
    const slab = new Uint8Array(1 << 20);
    const adopted: number[] = [];
    const pool = {
      offsetOf: (bytes: Uint8Array) => (bytes.buffer === slab.buffer ? bytes.byteOffset : -1),
      view: (offset: number, length: number) => slab.subarray(offset, offset + length),
      adopt: (offset: number) => {
        adopted.push(offset);
        return { bytes: slab.subarray(offset), retain: () => undefined, release: () => undefined };
      },
    };
    const { port1, port2 } = new MessageChannel();
    const memory = createLane(8);
    const arena = createArena(64 * 1024);
    const producer = new LaneProducer(memory);
    const consumer = new LaneConsumer(memory);
    const exporter = new ReferringExporter(pool, new CopyingExporter(arena, port1));
    const importer = new BodyImporter(arena, port2, pool);
    let released = 0;
    const block = {
      bytes: slab,
      offset: 4096,
      retain: () => undefined,
      release: () => {
        released++;
      },
    };
    slab.fill(3, 4096, 8192).fill(5, 20_000, 30_000);
    const head = new Uint8Array(40).fill(1);
    const copied = new Uint8Array(20_000).fill(9);
    const pieces = [head, slab.subarray(4096, 8192), copied, slab.subarray(20_000, 30_000)];
    const record = producer.begin(REFERENCE_BYTES_MAX);
    if (record === undefined) throw new Error("no room in an empty lane");
    exporter.send(record, pieces, [block]);
    producer.commit();
    const found = consumer.next();
    if (found === undefined) throw new Error("nothing arrived");
    const received = importer.receive(found);
    consumer.release();
    expect(received.pieces.map((piece) => Buffer.from(piece))).toEqual(pieces.map((piece) => Buffer.from(piece)));
    expect(received.pieces[1]?.buffer).toBe(slab.buffer);
    expect(received.memory).toHaveLength(1);
    expect(adopted).toEqual([4096]);
    // The reference travelled with the block.
    expect(released).toBe(0);
    port1.close();
    port2.close();
  });
});
