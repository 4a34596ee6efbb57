import { type MemoryIo, type OffsetKind, partitionDirectory, type StoredOffset } from "../../src/index.js";
import { DATA, ID, JOURNAL, memoryDisk, type Settings, TestPartition } from "../partition-harness.js";
import { type Picture, pictureOf } from "./picture.js";

export const DIRECTORY = partitionDirectory(DATA, ID);

/** How the partition was left. */
export interface Leaving {
  /** Every operation is synced before it is acknowledged; otherwise only what checkpoints and the close sync. */
  readonly persisted: boolean;
  readonly by: "close" | "kill" | "power";
}

/** A partition with every kind of file, and what it owes. */
export interface Filled {
  readonly settings: Settings;
  readonly picture: Picture;
  /** As it was between its checkpoints, for files that are put back. */
  readonly earlier: Picture;
  /** Of the next start: another one than that of the files after a loss of power. */
  readonly boot: bigint;
  /** Text of each offset. */
  readonly texts: readonly string[];
  /** First offset at each append time. */
  readonly times: readonly (readonly [timestampMicros: number, offset: number])[];
  readonly offsets: readonly StoredOffset[];
}

const BATCHES = 12;
const OFFSETS: readonly (readonly [kind: OffsetKind, id: number, offset: number])[] = [
  ["consumer", 1, 3],
  ["group", 2, 5],
  ["external_group", 3, 4_000_000_000],
];

/**
 * Twelve batches of two messages in several segments, a checkpoint behind the fifth and the ninth, operations between
 * them, and a stored offset of each kind.
 */
export async function filledPartition({ persisted, by }: Leaving): Promise<Filled> {
  const settings: Settings = { persisted, segmentSizeBytes: 2000, residentBytesMax: 0, offsetReservationLease: 50 };
  const io: MemoryIo = await memoryDisk();
  const partition = await TestPartition.open(io, settings);
  const texts: string[] = [];
  const times: (readonly [number, number])[] = [];
  let earlier: Picture = new Map();
  for (let batch = 0; batch < BATCHES; batch++) {
    const pair = [`first of ${batch}`, `second of ${batch} ${"x".repeat(60 * (batch % 4))}`];
    await partition.send(pair, persisted);
    times.push([partition.clockMicros, texts.length]);
    texts.push(...pair);
    if (batch % 3 === 0) await partition.operate(new Uint8Array(40).fill(batch), persisted);
    if (batch === 1)
      for (const [kind, id, offset] of OFFSETS) await partition.store.storeOffset(kind, id, offset, true);
    if (batch === 4 || batch === 8) await partition.checkpoint(new TextEncoder().encode(`state at ${batch}`));
    if (batch === 6) earlier = pictureOf(io);
  }
  if (by === "close") await partition.store.close();
  return {
    settings,
    picture: pictureOf(io),
    earlier,
    boot: by === "power" ? 2n : 1n,
    texts,
    times,
    offsets: OFFSETS.map(([kind, id, offset]) => ({ kind, id, offset })),
  };
}

/** The file of a kind: the first of its name, or the last one. */
export function fileOf(picture: Picture, kind: FileKind): string {
  const paths = [...picture.keys()].sort();
  const found = paths.filter((path) => files[kind].test(path));
  const path = kind.startsWith("the newest") ? found.at(-1) : found[0];
  if (path === undefined) throw new RangeError(`the partition has no file for ${kind}`);
  return path;
}

const inside = (name: string): RegExp => new RegExp(`^${DIRECTORY}/${name}$`);

/** Every kind of file that a partition has. */
const files = {
  "a sealed segment": inside("\\d{20}\\.log"),
  "the newest segment": inside("\\d{20}\\.log"),
  "the index of a sealed segment": inside("\\d{20}\\.index"),
  "the newest journal file": new RegExp(`^${JOURNAL}/\\d{20}\\.wal$`),
  "superblock a": inside("superblock\\.a"),
  "superblock b": inside("superblock\\.b"),
  "the checkpoint": inside("checkpoint"),
  "created.revision": inside("created\\.revision"),
  "the record of initialisation": new RegExp(`^${DATA}/partition-initialization/\\d+/created\\.revision$`),
  "the offset of a consumer": inside("offsets/consumers/1"),
  "the offset of a group": inside("offsets/groups/2"),
  "the offset of an external group": inside("offsets/external_groups/3"),
} as const;

export type FileKind = keyof typeof files;
export const fileKinds = Object.keys(files) as readonly FileKind[];
