import { describe, expect, it } from "vitest";
import { type DiskOperation, type MemoryIo, PartitionFenced, WriteFailed } from "../../src/index.js";
import { memoryDisk, type Settings, TestPartition } from "../partition-harness.js";

/** What a partition makes of an operation that the operating system refuses once. */
type Answer =
  /** Everything is done: the operation was not needed, or is tried again. */
  | "goes on"
  /** Something was refused with nothing changed, and the same succeeds later. */
  | "refuses"
  /** Refuses under a checkpoint or a retention, which change nothing before they are sure; fails under a write. */
  | "refuses or fails"
  /** It takes nothing more until it is opened anew. */
  | "fails";

const files = {
  log: /\.log$/,
  index: /\.index$/,
  journal: /\.wal$/,
  superblock: /superblock\.[ab](\.tmp)?$/,
  checkpoint: /\/checkpoint(\.tmp)?$/,
  offset: /\/offsets\//,
  directory: /\/(partitions\/3|prepares-7|consumers)$/,
} as const;
type File = keyof typeof files;

/**
 * A full disk is no damage: what was written is taken back. A refused sync is one, since nobody knows afterwards what is
 * stable; so is anything else that leaves a file in doubt.
 */
const table: readonly (readonly [operation: DiskOperation, file: File, full: Answer, broken: Answer])[] = [
  ["create", "log", "refuses", "refuses or fails"],
  ["create", "journal", "refuses", "refuses or fails"],
  ["create", "index", "refuses", "refuses"],
  ["create", "superblock", "refuses", "refuses or fails"],
  ["create", "checkpoint", "refuses", "refuses"],
  ["create", "offset", "refuses", "refuses"],
  ["write", "log", "refuses", "fails"],
  ["write", "journal", "refuses", "refuses or fails"],
  ["write", "index", "refuses", "refuses"],
  ["write", "superblock", "refuses", "refuses or fails"],
  ["write", "checkpoint", "refuses", "refuses"],
  ["write", "offset", "refuses", "refuses"],
  ["sync", "log", "fails", "fails"],
  ["sync", "journal", "fails", "fails"],
  ["sync", "index", "fails", "fails"],
  ["sync", "superblock", "refuses", "refuses or fails"],
  ["sync", "checkpoint", "refuses", "refuses"],
  ["sync", "offset", "refuses", "refuses"],
  ["truncate", "index", "refuses", "refuses"],
  ["rename", "superblock", "refuses", "refuses or fails"],
  ["rename", "checkpoint", "refuses", "refuses"],
  ["rename", "offset", "refuses", "refuses"],
  ["remove", "log", "refuses", "refuses"],
  ["remove", "journal", "refuses", "refuses"],
  ["sync-directory", "directory", "refuses or fails", "refuses or fails"],
  ["read", "log", "refuses", "refuses"],
  ["open", "log", "refuses", "refuses or fails"],
];

const settings: Settings = {
  persisted: true,
  segmentSizeBytes: 1500,
  residentBytesMax: 0,
  offsetReservationLease: 6,
};

/** A partition at work, and what it confirmed. */
class Work {
  readonly confirmed = new Map<number, string>();
  offset: number | undefined;
  answer: Answer = "goes on";
  private readonly partition: TestPartition;
  private deletedBelow = 0;

  constructor(partition: TestPartition) {
    this.partition = partition;
  }

  /** A bit of everything; what is refused is tried once more. */
  async run(): Promise<void> {
    for (let round = 0; round < 4; round++) {
      for (let i = 0; i < 4; i++) await this.attempt(() => this.send(`${round}.${i} ${"x".repeat(300)}`));
      await this.attempt(() => this.store(round));
      await this.attempt(() => this.partition.messages(this.deletedBelow).then(() => undefined));
      await this.attempt(() => this.partition.checkpoint());
      await this.attempt(() => this.retain());
    }
    await this.attempt(() => this.partition.store.flush());
    if (this.partition.failures.length > 0) this.answer = "fails";
  }

  expectKept(stored: readonly { readonly offset: number; readonly text: string }[]): void {
    const texts = new Map(stored.map(({ offset, text }) => [offset, text]));
    for (const [offset, text] of this.confirmed) {
      if (offset >= this.deletedBelow || texts.has(offset)) expect(texts.get(offset), `offset ${offset}`).toBe(text);
    }
  }

  private async send(text: string): Promise<void> {
    const { partition } = this;
    const offset = partition.nextOffset;
    const op = partition.queue([text], true);
    if (op === undefined) throw new Error("nothing was taken");
    await partition.settled(op);
    const [rejection] = partition.rejections.splice(0);
    if (rejection !== undefined) throw rejection.error;
    if (partition.journaledOp >= op) this.confirmed.set(offset, text);
  }

  private async store(offset: number): Promise<void> {
    await this.partition.store.storeOffset("consumer", 1, offset, true);
    this.offset = offset;
  }

  private async retain(): Promise<void> {
    const through = this.partition.store.sealedSegments[1]?.endOffset;
    if (through === undefined) return;
    this.deletedBelow = Math.max(this.deletedBelow, through + 1);
    await this.partition.store.deleteSegmentsThrough(through);
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    if (this.partition.failures.length > 0) return;
    try {
      await work();
    } catch (error) {
      if (this.partition.failures.length > 0) return;
      expect(error, "a refusal is typed").toHaveProperty("code");
      this.answer = "refuses";
      await work();
    }
  }
}

describe("an operation that the disk refuses once, at any moment", () => {
  for (const [operation, file, full, broken] of table) {
    for (const [code, expected] of [
      ["ENOSPC", full],
      ["EIO", broken],
    ] as const) {
      it(`${operation} of a ${file}, ${code}: ${expected}, and loses nothing`, async () => {
        const seen = new Set<Answer>();
        for (let skipped = 0; skipped < 12; skipped++) {
          const io = await memoryDisk({ immediate: { wouldBlock: () => skipped % 2 === 0 } });
          const partition = await TestPartition.open(io, settings);
          const work = new Work(partition);
          failOnce(io, operation, files[file], code, skipped);
          await work.run();
          seen.add(work.answer);
          for (const next of [io.kill(), io.losePower()]) {
            const again = await TestPartition.open(next, settings);
            work.expectKept(await again.messages(again.store.startOffset));
            const stored = again.recovered.offsets.find(({ id }) => id === 1)?.offset;
            if (work.offset !== undefined) expect(stored).toBeGreaterThanOrEqual(work.offset);
          }
        }
        seen.delete("goes on");
        for (const answer of seen) expect(expected.split(" or "), "apart from going on").toContain(answer);
      });
    }
  }
});

describe("an operation that the disk refuses once while a partition opens", () => {
  for (const operation of ["open", "read", "list", "write", "sync", "truncate", "rename", "remove"] as const) {
    it(`${operation}: it is fenced for that start or opens whole, and the next start is as if nothing was`, async () => {
      for (const code of ["EIO", "ENOSPC", "EMFILE"]) {
        for (let skipped = 0; skipped < 15; skipped++) {
          const io = await memoryDisk();
          const partition = await TestPartition.open(io, settings);
          const work = new Work(partition);
          await work.run();
          const next = io.losePower();
          failOnce(next, operation, /./, code, skipped);
          const opened = await TestPartition.open(next, settings).catch((error: unknown) => error);
          if (opened instanceof TestPartition) work.expectKept(await readable(opened));
          else expect(opened).toSatisfy((error) => error instanceof PartitionFenced || error instanceof WriteFailed);
          const again = await TestPartition.open(next.kill(), settings);
          work.expectKept(await again.messages(again.store.startOffset));
        }
      }
    });
  }
});

/** The refused operation may be the first read of a client: the second one gets everything. */
const readable = (partition: TestPartition) =>
  partition.messages(partition.store.startOffset).catch(() => partition.messages(partition.store.startOffset));

/** Lets a number of operations pass, then refuses one. */
function failOnce(io: MemoryIo, operation: DiskOperation, file: RegExp, code: string, skipped: number): void {
  let left = skipped;
  io.fail({ operation, code, times: 1, path: (path) => file.test(path) && left-- <= 0 });
}
