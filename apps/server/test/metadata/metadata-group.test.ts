import { type Prepare, type Proposal, Replica } from "@iggy/consensus";
import { type JournalEntry, type MetadataStore, WriteFailed } from "@iggy/storage";
import { beforeEach, describe, expect, it } from "vitest";
import { MetadataGroup } from "../../src/metadata/metadata-group.js";
import { metadataSealer } from "../../src/prepare-sealer.js";

/** A store whose appends and checkpoints end when the test says so. */
class HeldStore implements MetadataStore {
  readonly entries: JournalEntry[] = [];
  readonly checkpoints: number[] = [];
  checkpointDue = false;
  freeSlots = 100;
  checkpointFault: Error | undefined;
  private readonly pending: { resolve: () => void; reject: (error: Error) => void }[] = [];

  append(entry: JournalEntry): Promise<void> {
    if (this.freeSlots-- <= 0) return Promise.reject(new RangeError("no journal slot is free"));
    this.entries.push(entry);
    return new Promise((resolve, reject) => this.pending.push({ resolve, reject }));
  }
  checkpoint(op: number): Promise<void> {
    this.checkpoints.push(op);
    if (this.checkpointFault !== undefined) return Promise.reject(this.checkpointFault);
    this.checkpointDue = false;
    this.freeSlots = 100;
    return Promise.resolve();
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
  async finish(error?: Error): Promise<void> {
    const next = this.pending.shift();
    if (error === undefined) next?.resolve();
    else next?.reject(error);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const proposal = (request: number): Proposal => ({
  operation: 128,
  client: 7n,
  session: 1,
  request,
  requestChecksum: 9n,
  userId: 0,
  partitionIncarnation: 0,
  body: new Uint8Array([request]),
});

describe("the metadata group", () => {
  let store: HeldStore;
  let applied: number[];
  let fatal: Error[];
  let warnings: string[];
  let now: number;
  let group: MetadataGroup<string>;

  beforeEach(() => {
    store = new HeldStore();
    applied = [];
    fatal = [];
    warnings = [];
    now = 0;
    const replica = new Replica(
      { group: 1n << 63n, cluster: 1n, replica: 0, members: [0], pipelineDepth: 2, retryCapacity: 8 },
      { view: 0, logView: 0, op: 0, headChecksum: 0n, commit: 0, timestampMicros: 0 },
      metadataSealer,
    );
    group = new MetadataGroup<string>(
      {
        replica,
        store,
        clock: { nowMicros: () => 1000, monotonicMillis: () => now },
        apply: (prepare: Prepare) => {
          applied.push(prepare.request);
          return `applied ${prepare.request}`;
        },
        snapshot: () => new Uint8Array(1),
        requestQueueDepth: 3,
        onFatal: (error) => fatal.push(error),
        log: { warn: (_fields, message) => warnings.push(message) },
      },
      0n,
    );
  });

  it("answers after the journal holds the operation, in order", async () => {
    const answers: (string | undefined)[] = [];
    group.propose(proposal(1), (committed) => answers.push(committed?.applied));
    group.propose(proposal(2), (committed) => answers.push(committed?.applied));
    expect(applied).toEqual([]);
    await store.finish();
    expect(answers).toEqual(["applied 1"]);
    await store.finish();
    expect(answers).toEqual(["applied 1", "applied 2"]);
  });

  it("queues behind a full pipeline up to its bound", async () => {
    for (let request = 1; request <= 5; request++) {
      expect(group.hasRoom).toBe(true);
      group.propose(proposal(request), () => undefined);
    }
    expect(group.hasRoom).toBe(false);
    expect(store.entries.length).toBe(2);
    await store.finish();
    expect(group.hasRoom).toBe(true);
    expect(store.entries.map(({ op }) => op)).toEqual([1, 2, 3]);
  });

  it("hands everything back when the disk is full, and goes on when there is room again", async () => {
    const answers: (string | undefined)[] = [];
    for (let request = 1; request <= 3; request++) {
      group.propose(proposal(request), (committed) => answers.push(committed?.applied));
    }
    const full = new WriteFailed("journal.wal", true, new Error("no space"));
    await store.finish(full);
    await store.finish(full);
    expect(answers).toEqual([undefined, undefined, undefined]);
    expect(fatal).toEqual([]);
    group.propose(proposal(4), (committed) => answers.push(committed?.applied));
    await store.finish();
    expect(answers.at(-1)).toBe("applied 4");
    expect(store.entries.at(-1)?.op).toBe(1);
  });

  it("stops the node when the journal fails for another reason", async () => {
    group.propose(proposal(1), () => undefined);
    await store.finish(new Error("the disk is gone"));
    expect(fatal.map(({ message }) => message)).toEqual(["the disk is gone"]);
    expect(group.hasRoom).toBe(false);
  });

  describe("whose disk has no room for a checkpoint", () => {
    const full = new WriteFailed("snapshot", true, new Error("no space"));
    let answers: (string | undefined)[];
    const propose = (request: number) => {
      group.propose(proposal(request), (committed) => answers.push(committed?.applied));
    };

    beforeEach(() => {
      answers = [];
      store.checkpointDue = true;
      store.checkpointFault = full;
    });

    it("goes on while the journal has room, and tries again from time to time", async () => {
      propose(1);
      await store.finish();
      propose(2);
      await store.finish();
      expect([answers, fatal, store.checkpoints]).toEqual([["applied 1", "applied 2"], [], [1]]);
      expect(warnings).toEqual(["no room on the disk for a checkpoint of the metadata"]);
      now = 1_000;
      store.checkpointFault = undefined;
      propose(3);
      await store.finish();
      expect(store.checkpoints).toEqual([1, 3]);
    });

    it("refuses what the journal has no slot for, and takes it once a checkpoint made room", async () => {
      propose(1);
      await store.finish();
      store.freeSlots = 0;
      propose(2);
      expect([answers, fatal]).toEqual([["applied 1", undefined], []]);
      now = 1_000;
      store.checkpointFault = undefined;
      propose(3);
      await new Promise((resolve) => setImmediate(resolve));
      await store.finish();
      expect([answers, fatal]).toEqual([["applied 1", undefined, "applied 3"], []]);
      expect(store.checkpoints).toEqual([1, 1]);
    });

    it("can be closed, and refuses what waits for room", async () => {
      propose(1);
      await store.finish();
      now = 1_000;
      store.freeSlots = 0;
      propose(2);
      const closed = group.close();
      await expect(closed).rejects.toThrow("no space");
      expect([answers, fatal]).toEqual([["applied 1", undefined], []]);
    });
  });

  it("stops the node when a checkpoint fails for another reason", async () => {
    store.checkpointDue = true;
    store.checkpointFault = new Error("the disk is gone");
    group.propose(proposal(1), () => undefined);
    await store.finish();
    expect(fatal.map(({ message }) => message)).toEqual(["the disk is gone"]);
  });

  it("takes a checkpoint when the journal asks for one, and at the end", async () => {
    group.propose(proposal(1), () => undefined);
    store.checkpointDue = true;
    await store.finish();
    expect(store.checkpoints).toEqual([1]);
    group.propose(proposal(2), () => undefined);
    const closed = group.close();
    expect(group.hasRoom).toBe(false);
    await store.finish();
    await closed;
    expect(applied).toEqual([1, 2]);
    expect(store.checkpoints).toEqual([1, 2]);
  });
});
