import { storedChecksum, xxh3_64 } from "@iggy/protocol";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type JournalEntry,
  type MemoryIo,
  type MetadataOptions,
  openMetadataStore,
  StorageRefused,
  StoreUnavailable,
  WriteFailed,
} from "../src/index.js";
import { DATA, memoryDisk, prepareHeader, PROPERTY_RUNS, seeded } from "./partition-harness.js";

const METADATA = `${DATA}/metadata`;
const WAL = `${METADATA}/journal.wal`;
const SNAPSHOT = `${METADATA}/snapshot.bin`;
const OPTIONS: MetadataOptions = {
  clusterId: 9n,
  replicaId: 0,
  replicaCount: 1,
  journalSlots: 300,
  prepareQueueDepth: 32,
};

type Opened = Awaited<ReturnType<typeof openMetadataStore>>;

/** Makes chained entries. */
class Chain {
  op: number;
  identity: bigint;

  constructor(op = 0, identity = 0n) {
    this.op = op;
    this.identity = identity;
  }

  static after({ recovered }: Opened): Chain {
    const last = recovered.entries.at(-1);
    return last === undefined
      ? new Chain(recovered.snapshotOp, recovered.frontier.checkpointChecksum)
      : new Chain(last.op, storedChecksum(last.header));
  }

  next(size = 20): JournalEntry {
    const op = ++this.op;
    const body = new Uint8Array(size).fill(op & 0xff);
    const checksumBody = size === 0 ? 0n : xxh3_64(body);
    const header = prepareHeader({
      op,
      body,
      timestamp: op * 10,
      operation: 128,
      parent: this.identity,
      group: 1n << 63n,
      checksumBody,
    });
    this.identity = storedChecksum(header);
    return { op, header, body };
  }
}

const ops = ({ recovered }: Opened): number[] => recovered.entries.map(({ op }) => op);
const upTo = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

let io: MemoryIo;
beforeEach(async () => {
  io = await memoryDisk();
  await io.makeDirectory(METADATA);
  await io.syncDirectory(DATA);
});

const open = (options: Partial<MetadataOptions> = {}): Promise<Opened> =>
  openMetadataStore(io, DATA, { ...OPTIONS, ...options });

async function refusal(detail: string, options: Partial<MetadataOptions> = {}): Promise<void> {
  const error: unknown = await open(options).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(StorageRefused);
  expect((error as Error).message).toContain(METADATA);
  expect((error as Error).message).toContain(detail);
}

function flip(path: string, at: number): void {
  const bytes = io.contents(path)!;
  bytes[at] = bytes[at]! ^ 1;
  io.setContents(path, bytes);
}

describe("the metadata log", () => {
  it("is fresh once, and then recovers its entries in order", async () => {
    const first = await open();
    expect(first.recovered).toMatchObject({ fresh: true, snapshot: undefined, snapshotOp: 0, entries: [] });
    const chain = new Chain();
    const entries = [chain.next(), chain.next(0), chain.next(5000)];
    await Promise.all(entries.map((entry) => first.store.append(entry)));
    io = io.losePower();
    const second = await open();
    expect(second.recovered.fresh).toBe(false);
    expect(second.recovered.entries.map(({ op, header, body }) => [op, header, body])).toEqual(
      entries.map(({ op, header, body }) => [op, header, body]),
    );
    expect(second.recovered.frontier).toEqual({
      view: 0,
      logView: 0,
      commitMax: 2,
      checkpointOp: 0,
      checkpointChecksum: 0n,
    });
    await second.store.close();
    expect((await open()).recovered.fresh).toBe(false);
  });

  it("shares one sync between entries that wait together", async () => {
    const { store } = await open();
    let syncs = 0;
    const original = io.open.bind(io);
    io.open = async (path, mode) => {
      const file = await original(path, mode);
      return {
        ...file,
        sync: () => {
          syncs++;
          return file.sync();
        },
      };
    };
    const chain = new Chain();
    await Promise.all(Array.from({ length: 20 }, () => store.append(chain.next())));
    expect(syncs).toBeLessThanOrEqual(2);
  });

  it("keeps the entry at the checkpoint and those above, and gives slots back", async () => {
    const { store } = await open();
    const chain = new Chain();
    const identities: bigint[] = [0n];
    for (let i = 0; i < 10; i++) {
      await store.append(chain.next());
      identities.push(chain.identity);
    }
    expect(store.freeSlots).toBe(290);
    const before = io.contents(WAL)!.length;
    await store.checkpoint(7, identities[7]!, new TextEncoder().encode("state"));
    expect(store.freeSlots).toBe(297);
    expect(io.contents(WAL)!.length).toBe((before / 10) * 4);
    await store.append(chain.next());
    io = io.losePower();
    const again = await open();
    expect(new TextDecoder().decode(again.recovered.snapshot)).toBe("state");
    expect(again.recovered.snapshotOp).toBe(7);
    expect(ops(again)).toEqual([8, 9, 10, 11]);
    expect(again.recovered.frontier).toMatchObject({
      checkpointOp: 7,
      checkpointChecksum: identities[7],
      commitMax: 10,
    });
    await again.store.append(Chain.after(again).next());
    expect(again.store.freeSlots).toBe(295);
  });

  it("asks for a checkpoint when slots run out, and refuses beyond them", async () => {
    const { store } = await open({ journalSlots: 80 });
    const chain = new Chain();
    for (let i = 0; i < 15; i++) await store.append(chain.next());
    expect(store.checkpointDue).toBe(false);
    await store.append(chain.next());
    expect(store.checkpointDue).toBe(true);
    while (store.freeSlots > 0) await store.append(chain.next());
    await expect(store.append(chain.next())).rejects.toThrow(/no journal slot/);
    await store.checkpoint(80, 1n, new Uint8Array(0));
    expect(store.checkpointDue).toBe(false);
  });

  it("refuses entries that do not follow, are not sealed or do not fit their header", async () => {
    const { store } = await open();
    const chain = new Chain();
    const entry = chain.next();
    await expect(store.append({ ...entry, op: 2 })).rejects.toThrow(RangeError);
    await expect(store.append({ ...entry, header: new Uint8Array(256) })).rejects.toThrow(RangeError);
    await expect(store.append({ ...entry, body: new Uint8Array(3) })).rejects.toThrow(RangeError);
    await store.append(entry);
    await expect(store.append(entry)).rejects.toThrow(RangeError);
    await expect(store.checkpoint(2, 0n, new Uint8Array(0))).rejects.toThrow(RangeError);
  });
});

describe("a metadata journal", () => {
  async function filled(count = 3): Promise<number> {
    const { store } = await open();
    const chain = new Chain();
    for (let i = 0; i < count; i++) await store.append(chain.next());
    await store.close();
    return io.contents(WAL)!.length / count;
  }

  it("that is torn at any byte of its last entry loses that entry only", async () => {
    const width = await filled();
    const whole = io.contents(WAL)!;
    for (let size = 2 * width; size < whole.length; size++) {
      io.setContents(WAL, whole.subarray(0, size));
      const opened = await open();
      expect(ops(opened)).toEqual([1, 2]);
      expect(io.contents(WAL)).toHaveLength(2 * width);
      await opened.store.append(Chain.after(opened).next());
      await opened.store.close();
      expect(ops(await open())).toEqual([1, 2, 3]);
    }
  });

  it("that is damaged anywhere inside is refused, naming file and byte, and stays as it is", async () => {
    const width = await filled();
    const whole = io.contents(WAL)!;
    for (let at = 0; at < 2 * width; at += 7) {
      io.setContents(WAL, whole);
      flip(WAL, at);
      const damaged = io.contents(WAL)!;
      await refusal(`journal.wal: damaged at byte ${at < width ? 0 : width}`);
      expect(io.contents(WAL)).toEqual(damaged);
    }
  });

  it("that ends in more garbage than a crash can leave is refused", async () => {
    const width = await filled();
    const whole = io.contents(WAL)!;
    flip(WAL, 2 * width + 40);
    io.setContents(WAL, Buffer.concat([io.contents(WAL)!, new Uint8Array(100)]));
    await refusal("wider than a crash can tear");
    io.setContents(WAL, Buffer.concat([whole, new Uint8Array(100)]));
    expect(ops(await open())).toEqual([1, 2, 3]);
  });

  it("whose entries do not chain is refused", async () => {
    await filled(2);
    const first = io.contents(WAL)!;
    io = await memoryDisk();
    await io.makeDirectory(METADATA);
    const { store } = await open();
    const other = new Chain(0, 55n);
    await store.append(other.next());
    await store.append(other.next());
    await store.append(other.next());
    const second = io.contents(WAL)!;
    await store.close();
    const width = first.length / 2;
    io.setContents(WAL, Buffer.concat([first, second.subarray(2 * width)]));
    await refusal("no child");
    io.setContents(WAL, Buffer.concat([first.subarray(0, width), second.subarray(2 * width)]));
    await refusal("op 3 follows op 1");
    io.setContents(WAL, second.subarray(width));
    await refusal("begins at op 2");
    io.setContents(WAL, second);
    await refusal("does not continue the snapshot");
  });

  it("that is missing beside a superblock is refused, and a superblock that is missing beside a log", async () => {
    await filled();
    const wal = io.contents(WAL)!;
    await io.remove(WAL);
    await refusal("no journal.wal");
    io.setContents(WAL, wal);
    await io.remove(`${METADATA}/superblock.a`);
    await refusal("no superblock");
  });

  it("with more entries than slots is refused with the key to raise", async () => {
    await filled(5);
    await refusal("metadata.journal_slots", { journalSlots: 4 });
    expect(ops(await open({ journalSlots: 5 }))).toHaveLength(5);
  });

  it("of another cluster, replica or replica count is refused", async () => {
    await filled();
    await refusal("another cluster", { clusterId: 1n });
    await refusal("replica 0 of 1", { replicaId: 1 });
    await refusal("replica 0 of 1", { replicaCount: 3 });
  });
});

describe("snapshot and superblock", () => {
  async function checkpointed(): Promise<void> {
    const { store } = await open();
    const chain = new Chain();
    for (let op = 1; op <= 4; op++) {
      await store.append(chain.next());
      if (op === 2) {
        await store.checkpoint(2, chain.identity, new TextEncoder().encode("two"));
        older = io.contents(SNAPSHOT)!;
      }
      if (op === 4) await store.checkpoint(4, chain.identity, new TextEncoder().encode("four"));
    }
    await store.close();
  }
  let older: Uint8Array;

  it("end in a trailer of magic and checksum", async () => {
    await checkpointed();
    const bytes = io.contents(SNAPSHOT)!;
    const view = new DataView(bytes.buffer);
    expect(view.getUint32(0, true)).toBe(10);
    expect(view.getUint32(bytes.length - 20, true)).toBe(0x49534e50);
    expect(view.getBigUint64(bytes.length - 16, true)).toBe(xxh3_64(bytes.subarray(0, -20)));
  });

  it("that are damaged anywhere are refused", async () => {
    await checkpointed();
    const whole = io.contents(SNAPSHOT)!;
    for (let at = 0; at < whole.length; at += 3) {
      io.setContents(SNAPSHOT, whole);
      flip(SNAPSHOT, at);
      await refusal("snapshot.bin");
    }
    for (const size of [0, 10, whole.length - 1]) {
      io.setContents(SNAPSHOT, whole.subarray(0, size));
      await refusal("snapshot.bin");
    }
  });

  it("are refused when the snapshot is older than the superblock names or gone, taken when it is newer", async () => {
    await checkpointed();
    const newer = io.contents(SNAPSHOT)!;
    io.setContents(SNAPSHOT, older);
    await refusal("names a snapshot at op 4");
    await io.remove(SNAPSHOT);
    await refusal("names a snapshot at op 4");
    io.setContents(SNAPSHOT, newer);
    // The slot of the last write goes: the other one names op 2.
    await io.remove(`${METADATA}/superblock.a`);
    const opened = await open();
    expect(opened.recovered.snapshotOp).toBe(4);
  });

  it("are refused when a superblock slot does not verify", async () => {
    for (const name of ["superblock.a", "superblock.b"]) {
      await checkpointed();
      flip(`${METADATA}/${name}`, 60);
      await refusal(name);
      io = await memoryDisk();
      await io.makeDirectory(METADATA);
    }
  });
});

describe("a disk under the metadata log", () => {
  it("that is full rejects what waits, and takes the same ops when there is room", async () => {
    const { store } = await open();
    const chain = new Chain();
    await store.append(chain.next());
    const entries = [chain.next(), chain.next()];
    const stop = io.fail({ operation: "write", path: (path) => path === WAL, code: "ENOSPC" });
    const results = await Promise.allSettled(entries.map((entry) => store.append(entry)));
    for (const result of results) {
      expect(result).toMatchObject({ status: "rejected", reason: { outOfSpace: true } });
    }
    stop();
    await Promise.all(entries.map((entry) => store.append(entry)));
    io = io.kill();
    expect(ops(await open())).toEqual([1, 2, 3]);
  });

  it("that fails a write or a sync ends the store", async () => {
    for (const operation of ["write", "sync"] as const) {
      io = await memoryDisk();
      await io.makeDirectory(METADATA);
      const { store } = await open();
      const chain = new Chain();
      await store.append(chain.next());
      io.fail({ operation, path: (path) => path === WAL, code: "EIO", times: 1 });
      await expect(store.append(chain.next())).rejects.toThrow(WriteFailed);
      await expect(store.append(chain.next())).rejects.toThrow();
      chain.op = 1;
      await expect(store.append(chain.next())).rejects.toThrow(StoreUnavailable);
      await expect(store.checkpoint(1, 0n, new Uint8Array(0))).rejects.toThrow(StoreUnavailable);
      await store.close();
    }
  });

  it("that is full refuses a checkpoint and changes nothing", async () => {
    const { store } = await open();
    const chain = new Chain();
    await store.append(chain.next());
    const stop = io.fail({ operation: "write", path: (path) => path.startsWith(SNAPSHOT), code: "ENOSPC" });
    await expect(store.checkpoint(1, chain.identity, new Uint8Array(9))).rejects.toMatchObject({ outOfSpace: true });
    stop();
    await store.append(chain.next());
    io = io.losePower();
    expect(ops(await open())).toEqual([1, 2]);
  });
});

describe("dropping what a checkpoint covers", () => {
  it("that can't be made durable ends the store", async () => {
    const { store } = await open();
    const chain = new Chain();
    for (let i = 0; i < 3; i++) await store.append(chain.next());
    io.fail({ operation: "rename", path: (path) => path === `${WAL}.tmp`, code: "EIO" });
    await expect(store.checkpoint(3, chain.identity, new Uint8Array(0))).rejects.toThrow(WriteFailed);
    await expect(store.append(chain.next())).rejects.toThrow(StoreUnavailable);
    io = io.kill();
    expect((await open()).recovered).toMatchObject({ snapshotOp: 3, entries: [] });
  });

  it("that finds no room is made up for by the next checkpoint", async () => {
    const { store } = await open();
    const chain = new Chain();
    for (let i = 0; i < 3; i++) await store.append(chain.next());
    const stop = io.fail({ operation: "write", path: (path) => path === `${WAL}.tmp`, code: "ENOSPC" });
    await expect(store.checkpoint(3, chain.identity, new Uint8Array(0))).rejects.toMatchObject({ outOfSpace: true });
    stop();
    await store.append(chain.next());
    expect(store.freeSlots).toBe(299);
    const before = io.contents(WAL)!.length;
    await store.checkpoint(4, chain.identity, new Uint8Array(0));
    expect(io.contents(WAL)!.length).toBe(before / 4);
  });
});

describe("whatever happens to the metadata log and wherever it stops", () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ appends: fc.integer({ min: 1, max: 6 }), size: fc.integer({ min: 0, max: 2000 }) }),
    },
    { weight: 1, arbitrary: fc.constant("checkpoint" as const) },
    { weight: 1, arbitrary: fc.constant("reopen" as const) },
  );
  const run = fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 12 }),
    haltAt: fc.integer({ min: 1, max: 80 }),
    end: fc.constantFrom("kill" as const, "power" as const),
  });

  it("everything that was acknowledged comes back, in order, and nothing else than what followed it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), fc.integer(), async (runs, seed) => {
        io = await memoryDisk({ random: seeded(seed) });
        await io.makeDirectory(METADATA);
        await io.syncDirectory(DATA);
        let acknowledged = 0;
        let snapshotOp = 0;
        for (const { steps, haltAt, end } of runs) {
          io.haltAt(haltAt);
          try {
            let opened = await open();
            let chain = Chain.after(opened);
            for (const one of steps) {
              if (one === "reopen") {
                await opened.store.close();
                opened = await open();
                chain = Chain.after(opened);
              } else if (one === "checkpoint") {
                const { op, identity } = chain;
                await opened.store.checkpoint(op, identity, new TextEncoder().encode(String(op)));
                snapshotOp = op;
              } else {
                const entries = Array.from({ length: one.appends }, () => chain.next(one.size));
                const { store } = opened;
                await Promise.all(
                  entries.map(async (entry) => {
                    await store.append(entry);
                    acknowledged = Math.max(acknowledged, entry.op);
                  }),
                );
              }
            }
          } catch (error) {
            if (!io.halted) throw error;
          }
          io = end === "kill" ? io.kill() : io.losePower();
          const opened = await open();
          const { recovered } = opened;
          expect(recovered.snapshotOp).toBeGreaterThanOrEqual(snapshotOp);
          if (recovered.snapshot !== undefined) {
            expect(new TextDecoder().decode(recovered.snapshot)).toBe(String(recovered.snapshotOp));
          }
          const last = recovered.entries.at(-1)?.op ?? recovered.snapshotOp;
          expect(last).toBeGreaterThanOrEqual(acknowledged);
          expect(ops(opened)).toEqual(upTo(recovered.snapshotOp + 1, last));
          for (const { op, body } of recovered.entries) expect(body.every((byte) => byte === (op & 0xff))).toBe(true);
          const chain = Chain.after(opened);
          await opened.store.append(chain.next());
          acknowledged = chain.op;
          io = io.kill();
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  }, 120_000);
});
