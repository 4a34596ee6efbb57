import { describe, expect, it } from "vitest";
import {
  type Io,
  type MemoryIo,
  openPartitionStore,
  PartitionFenced,
  removePartition,
  retirePartition,
  StorageShard,
  storedPartitions,
} from "../src/index.js";
import { DATA, DIRECTORY, ID, JOURNAL, memoryDisk, TestPartition } from "./partition-harness.js";

const OUTSIDE = `${DATA}/partition-initialization/4297064451`;
const PUBLISHED = `${OUTSIDE}/created.revision`;
const CREATED = `${DIRECTORY}/created.revision`;

async function served(io: Io, incarnation = 7): Promise<void> {
  const partition = await TestPartition.open(io, { incarnation });
  await partition.send(["kept"]);
  await partition.store.close();
}

async function fenceOf(opening: Promise<unknown>): Promise<PartitionFenced> {
  const error: unknown = await opening.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof PartitionFenced)) throw new Error(`no fence but ${String(error)}`);
  expect(error.code).toBe(87);
  expect(error.directory).toBe(DIRECTORY);
  return error;
}

/** Every file with its bytes. */
function picture(io: MemoryIo): Map<string, string> {
  return new Map(io.tree().map((path) => [path, Buffer.from(io.contents(path)!).toString("hex")]));
}

describe("initialisation", () => {
  it("leaves its files where the layout says, and the record outside last", async () => {
    const io = await memoryDisk();
    await TestPartition.open(io);
    expect(io.tree(DIRECTORY).map((path) => path.slice(DIRECTORY.length + 1))).toEqual([
      "00000000000000000000.log",
      "created.revision",
      "prepares-7/00000000000000000001.wal",
      "superblock.a",
    ]);
    expect(io.contents(PUBLISHED)).toEqual(io.contents(CREATED));
  });

  it("that is cut off anywhere is completed by the next start", async () => {
    for (const end of ["kill", "power"] as const) {
      for (let mutation = 1; mutation < 60; mutation++) {
        let io = await memoryDisk();
        io.haltAt(mutation);
        const opened = await TestPartition.open(io).then(
          () => true,
          () => false,
        );
        io = end === "kill" ? io.kill() : io.losePower();
        const partition = await TestPartition.open(io);
        await partition.send(["works"]);
        expect(await partition.texts()).toEqual(["works"]);
        if (opened) break;
      }
    }
  });

  it("is refused by a full or broken disk with a fence that names the cause", async () => {
    for (const code of ["ENOSPC", "EIO"]) {
      const io = await memoryDisk();
      io.fail({ operation: "write", code, times: 1 });
      const fence = await fenceOf(TestPartition.open(io));
      expect(fence.reason).toBe("disk-fault");
      expect(fence.message).toContain(code);
      expect(await (await TestPartition.open(io)).texts()).toEqual([]);
    }
  });
});

describe("what a start finds", () => {
  it("an older incarnation is deleted and the new one starts empty", async () => {
    const io = await memoryDisk();
    await served(io);
    const partition = await TestPartition.open(io, { incarnation: 8 });
    expect(partition.recovered.fresh).toBe(true);
    expect(await partition.texts()).toEqual([]);
    expect(io.tree(JOURNAL)).toEqual([]);
  });

  it("an older incarnation whose deletion was cut off is never taken for the new one", async () => {
    for (const end of ["kill", "power"] as const) {
      for (let mutation = 1; mutation < 30; mutation++) {
        let io = await memoryDisk();
        await served(io);
        io.haltAt(mutation);
        await TestPartition.open(io, { incarnation: 8 }).catch(() => undefined);
        io = end === "kill" ? io.kill() : io.losePower();
        const partition = await TestPartition.open(io, { incarnation: 8 });
        expect(await partition.texts()).toEqual([]);
        expect(partition.nextOffset === 0 || partition.nextOffset === 1000).toBe(true);
        expect(partition.warnings.filter((warning) => warning.includes("adopting"))).toEqual([]);
      }
    }
  });

  it("a newer incarnation than metadata knows is left alone", async () => {
    const io = await memoryDisk();
    await served(io);
    const before = picture(io);
    expect((await fenceOf(TestPartition.open(io, { incarnation: 6 }))).reason).toBe("metadata-older-than-partition");
    expect(picture(io)).toEqual(before);
    await io.removeTree(OUTSIDE);
    expect((await fenceOf(TestPartition.open(io, { incarnation: 6 }))).reason).toBe("metadata-older-than-partition");
  });

  it("a lost log is missing history, not a beginning", async () => {
    for (const lost of [DIRECTORY, JOURNAL]) {
      const io = await memoryDisk();
      await served(io);
      await io.removeTree(lost);
      const before = picture(io);
      expect((await fenceOf(TestPartition.open(io))).reason).toBe("missing-history");
      expect((await fenceOf(TestPartition.open(io))).reason).toBe("missing-history");
      expect(picture(io)).toEqual(before);
    }
  });

  it("a lost superblock is missing history", async () => {
    const io = await memoryDisk();
    await served(io);
    await io.remove(`${DIRECTORY}/superblock.a`);
    await io.remove(`${DIRECTORY}/superblock.b`);
    expect((await fenceOf(TestPartition.open(io))).reason).toBe("missing-history");
  });

  it("messages without a journal, in a directory that was never published, are missing history", async () => {
    const io = await memoryDisk();
    await served(io);
    await io.removeTree(OUTSIDE);
    await io.removeTree(JOURNAL);
    expect((await fenceOf(TestPartition.open(io))).reason).toBe("missing-history");
  });

  it("a lost record of initialisation is written again, and nothing is lost", async () => {
    const io = await memoryDisk();
    await served(io);
    await io.removeTree(OUTSIDE);
    const partition = await TestPartition.open(io);
    expect(await partition.texts()).toEqual(["kept"]);
    expect(partition.recovered.fresh).toBe(false);
    expect(io.contents(PUBLISHED)).toBeDefined();
  });

  it("a directory without created.revision is adopted with a warning", async () => {
    const io = await memoryDisk();
    await served(io);
    await io.remove(CREATED);
    const partition = await TestPartition.open(io);
    expect(await partition.texts()).toEqual(["kept"]);
    expect(partition.warnings[0]).toContain("adopting a nonempty partition directory without created.revision");
    expect(io.contents(CREATED)).toBeDefined();
  });

  it("a retirement fence keeps its incarnation offline, also with a replaced directory, and no other", async () => {
    const io = await memoryDisk();
    await served(io);
    await retirePartition(io, DATA, ID, 7);
    expect((await fenceOf(TestPartition.open(io))).reason).toBe("retired");
    await io.removeTree(DIRECTORY);
    expect((await fenceOf(TestPartition.open(io))).reason).toBe("retired");
    expect((await TestPartition.open(io, { incarnation: 8 })).recovered.fresh).toBe(true);
  });

  it("another cluster's, replica's or incarnation's superblock is foreign", async () => {
    const io = await memoryDisk();
    await served(io);
    for (const settings of [{ clusterId: 1n }, { replicaId: 1 }, { replicaCount: 3 }]) {
      expect((await fenceOf(TestPartition.open(io, settings))).reason).toBe("foreign");
    }
  });

  it("views below the committed creation view are refused, and a view of 0 is raised", async () => {
    const io = await memoryDisk();
    await served(io);
    const raised = await TestPartition.open(io, { createdView: 4 });
    expect(raised.recovered.frontier).toMatchObject({ view: 4, logView: 0 });
    await raised.store.close();

    const viewed = await memoryDisk();
    const partition = await TestPartition.open(viewed, { createdView: 2 });
    expect(partition.recovered.frontier).toMatchObject({ view: 2, logView: 2 });
    await partition.store.close();
    const fence = await fenceOf(TestPartition.open(viewed, { createdView: 3 }));
    expect(fence.reason).toBe("below-creation-view");
    expect(fence.message).toContain("log_view 2 of superblock falls below committed creation view 3");
  });

  it("a record that does not verify fences the partition and is not written over", async () => {
    for (const file of ["superblock.a", "superblock.b", "created.revision", "checkpoint"]) {
      const io = await memoryDisk();
      const partition = await TestPartition.open(io);
      await partition.send(["kept"]);
      await partition.checkpoint();
      await partition.store.close();
      const path = `${DIRECTORY}/${file}`;
      const bytes = io.contents(path)!;
      bytes[bytes.length - 1] = bytes[bytes.length - 1]! ^ 1;
      io.setContents(path, bytes);
      const before = picture(io);
      const fence = await fenceOf(TestPartition.open(io));
      expect(fence.reason).toBe("unreadable-record");
      expect(fence.message).toContain(path);
      expect(picture(io)).toEqual(before);
    }
  });

  it("a checkpoint older than the superblock names is missing history", async () => {
    const io = await memoryDisk();
    const partition = await TestPartition.open(io);
    await partition.send(["a"]);
    await partition.checkpoint();
    const older = io.contents(`${DIRECTORY}/checkpoint`)!;
    await partition.send(["b"]);
    await partition.checkpoint();
    await partition.store.close();
    io.setContents(`${DIRECTORY}/checkpoint`, older);
    expect((await fenceOf(TestPartition.open(io))).reason).toBe("missing-history");
  });
});

describe("removal", () => {
  it("takes the directory, the record outside and empty parents, and the ids can be used again", async () => {
    const io = await memoryDisk();
    await served(io);
    expect(await storedPartitions(io, DATA)).toEqual([ID]);
    await removePartition(io, DATA, ID);
    expect(io.tree(DATA)).toEqual([]);
    expect(await io.list(`${DATA}/streams`)).toEqual([]);
    expect(await storedPartitions(io, DATA)).toEqual([]);
    await removePartition(io, DATA, ID);
    await served(io, 9);
  });

  it("that is cut off leaves nothing that a new incarnation could take for its own", async () => {
    for (let mutation = 1; mutation < 20; mutation++) {
      let io = await memoryDisk();
      await served(io);
      io.haltAt(mutation);
      await removePartition(io, DATA, ID).catch(() => undefined);
      io = mutation % 2 === 0 ? io.kill() : io.losePower();
      const partition = await TestPartition.open(io, { incarnation: 8 });
      expect(await partition.texts()).toEqual([]);
    }
  });

  it("leaves the neighbours", async () => {
    const io = await memoryDisk();
    await served(io);
    const other = { ...ID, partitionId: 4 };
    await openPartitionStore(io, DATA, {
      ...other,
      clusterId: 9n,
      replicaId: 0,
      replicaCount: 1,
      incarnation: 7,
      createdView: 0,
      retryCapacity: 0,
      segmentSizeBytes: 1024,
      preallocate: false,
      persisted: false,
      validateChecksums: true,
      journalBytesMax: 1_000_000,
      shard: new StorageShard({ residentBytesMax: 1000 }),
      offsetReservationLease: 10,
      onJournaled: () => undefined,
      onRejected: () => undefined,
      onFailed: () => undefined,
      onWarning: () => undefined,
    });
    await removePartition(io, DATA, ID);
    expect(await storedPartitions(io, DATA)).toEqual([other]);
  });
});
