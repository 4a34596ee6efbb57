import { storedChecksum, xxh3_64 } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import {
  type JournalEntry,
  type MemoryIo,
  openDataDirectory,
  openMetadataStore,
  StorageRefused,
} from "../../src/index.js";
import { DATA, memoryDisk, prepareHeader } from "../partition-harness.js";
import { type DamageKind, damageKinds, damagesOf } from "./damage.js";
import { diskOf, type Picture, pictureOf, withFile } from "./picture.js";

const METADATA = `${DATA}/metadata`;
const OPTIONS = { clusterId: 9n, replicaId: 0, replicaCount: 1, journalSlots: 300, prepareQueueDepth: 32 };
const ENTRIES = 12;

/**
 * What becomes of a server that finds its metadata damaged.
 *
 *   whole     it starts with every entry
 *   cut       it starts without the last entry, as after a write that a crash tore
 *   refused   it does not start, says why, and leaves every file as it was
 */
type Outcome = "whole" | "cut" | "refused";

const refused: readonly Outcome[] = ["refused"];
const whole: readonly Outcome[] = ["whole"];

const superblock: Readonly<Record<DamageKind, readonly Outcome[]>> = {
  "a flipped bit": refused,
  "a cut end": refused,
  "an empty file": whole,
  "no file": whole,
  "a sector of zeros": refused,
  "bytes behind its end": refused,
};

const table: Readonly<Record<string, Readonly<Record<DamageKind, readonly Outcome[]>>>> = {
  /** Only the last group of entries can be torn, and nothing whole lies behind a torn one. */
  "journal.wal": {
    "a flipped bit": ["refused", "cut"],
    "a cut end": ["refused", "cut"],
    "an empty file": ["cut"],
    "no file": refused,
    "a sector of zeros": ["refused", "cut"],
    "bytes behind its end": ["whole", "refused"],
  },
  "snapshot.bin": {
    "a flipped bit": refused,
    "a cut end": refused,
    "an empty file": refused,
    "no file": refused,
    "a sector of zeros": refused,
    "bytes behind its end": refused,
  },
  "superblock.a": superblock,
  "superblock.b": superblock,
  "storage-format": {
    "a flipped bit": refused,
    "a cut end": refused,
    "an empty file": refused,
    "no file": refused,
    "a sector of zeros": refused,
    "bytes behind its end": refused,
  },
};

interface Filled {
  readonly picture: Picture;
  readonly earlier: Picture;
  readonly bodies: readonly string[];
}

function entry(op: number, parent: bigint): JournalEntry {
  const body = new TextEncoder().encode(`entry ${op} ${"y".repeat(op * 7)}`);
  const fields = { op, body, timestamp: op * 10, operation: 128, parent, group: 1n << 63n };
  return { op, header: prepareHeader({ ...fields, checksumBody: xxh3_64(body) }), body };
}

/** Twelve entries, with checkpoints at the fourth and the eighth. */
async function filledMetadata(): Promise<Filled> {
  const io = await memoryDisk();
  // The directory of the tests holds folders already; a gate lets only its own marker pass.
  await io.removeTree(DATA);
  await openDataDirectory(io, DATA);
  const { store } = await openMetadataStore(io, DATA, OPTIONS);
  const bodies: string[] = [];
  let identity = 0n;
  let earlier: Picture = new Map();
  for (let op = 1; op <= ENTRIES; op++) {
    const next = entry(op, identity);
    await store.append(next);
    identity = storedChecksum(next.header);
    bodies.push(new TextDecoder().decode(next.body));
    if (op % 4 === 0 && op < ENTRIES) await store.checkpoint(op, identity, new TextEncoder().encode(`state ${op}`));
    if (op === 6) earlier = pictureOf(io);
  }
  await store.close();
  return { picture: pictureOf(io), earlier, bodies };
}

async function judge(picture: Picture, filled: Filled): Promise<Outcome> {
  const io = await diskOf(picture);
  const first = await start(io, filled);
  if (first === "refused") expect(pictureOf(io), "nothing is changed").toEqual(picture);
  expect(await start(io.kill(), filled), "a second start").toBe(first);
  return first;
}

/** Starts, and compares every entry and the snapshot that is found. */
async function start(io: MemoryIo, { bodies }: Filled): Promise<Outcome> {
  try {
    await openDataDirectory(io, DATA);
    const { store, recovered } = await openMetadataStore(io, DATA, OPTIONS);
    const { snapshot, snapshotOp, entries } = recovered;
    if (snapshot !== undefined) expect(new TextDecoder().decode(snapshot)).toBe(`state ${snapshotOp}`);
    expect(entries.map(({ op }) => op)).toEqual(entries.map((_, i) => snapshotOp + 1 + i));
    for (const { op, body } of entries) expect(new TextDecoder().decode(body)).toBe(bodies[op - 1]);
    await store.close();
    return snapshotOp + entries.length === ENTRIES ? "whole" : "cut";
  } catch (error) {
    if (!(error instanceof StorageRefused)) throw error;
    expect(error.message, "the refusal names the directory and the way out").toMatch(
      /\/data.*(backup|--fresh|check the path)/,
    );
    return "refused";
  }
}

describe("a server whose metadata is damaged starts with what was written or not at all", () => {
  for (const [name, rows] of Object.entries(table)) {
    it(name, { timeout: 120_000 }, async () => {
      const filled = await filledMetadata();
      const path = `${METADATA}/${name}`;
      const original = filled.picture.get(path);
      if (original === undefined) throw new Error(`there is no ${path}`);
      for (const kind of damageKinds) {
        for (const { place, bytes } of damagesOf(kind, original, name.length)) {
          const outcome = await judge(withFile(filled.picture, path, bytes), filled);
          expect(rows[kind], `${kind}: ${place}`).toContain(outcome);
        }
      }
    });
  }

  it("files of an earlier time that were put back", async () => {
    const filled = await filledMetadata();
    const putBack = (...names: string[]): Picture => {
      let picture = filled.picture;
      for (const name of names)
        picture = withFile(picture, `${METADATA}/${name}`, filled.earlier.get(`${METADATA}/${name}`));
      return picture;
    };
    /** A snapshot that is newer than the superblock names is whole, and taken. */
    expect(await judge(putBack("superblock.a", "superblock.b"), filled)).toBe("whole");
    expect(await judge(putBack("snapshot.bin"), filled)).toBe("refused");
    expect(await judge(putBack("snapshot.bin", "superblock.a", "superblock.b"), filled)).toBe("refused");
    /** The journal of then ends below the snapshot: what followed is gone, and nothing is left that could tell. */
    expect(await judge(putBack("journal.wal"), filled)).toBe("cut");
    const without = (...names: string[]): Picture =>
      names.reduce((picture, name) => withFile(picture, `${METADATA}/${name}`, undefined), filled.picture);
    expect(await judge(without("superblock.a", "superblock.b"), filled)).toBe("refused");
    expect(await judge(without("snapshot.bin", "superblock.a", "superblock.b"), filled)).toBe("refused");
    expect(await judge(without("journal.wal", "superblock.a", "superblock.b"), filled)).toBe("refused");
  });
});
