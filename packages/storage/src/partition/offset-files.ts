import { xxh3_64 } from "@iggy/protocol";
import { getU64, setU64, viewOf } from "../bytes.js";
import type { OffsetKind, StoredOffset } from "../contracts.js";
import { clearLeftovers, makeDurableDirectory, putFile, readFile } from "../io/files.js";
import type { Io } from "../io/io.js";

/** Files that are behind or not synced, above which a checkpoint should be taken: it has to sync them all. */
export const DIRTY_FILES_MAX = 1024;

const OFFSETS_DIRECTORY = "offsets";
const ID = /^(0|[1-9]\d{0,15})$/;
const DIRECTORIES: Record<OffsetKind, string> = {
  consumer: "consumers",
  group: "groups",
  external_group: "external_groups",
};
const KINDS: readonly OffsetKind[] = ["consumer", "group", "external_group"];

/** A file is the offset u64 and its XXH3-64; one that lacks the checksum was written before there was one. */
const FILE_BYTES = 16;
const OFFSET_BYTES = 8;
const READ_BYTES_MAX = 1024 * 1024;
const PARALLEL = 16;

interface Change {
  readonly kind: OffsetKind;
  readonly id: number;
  /** Undefined: the offset was deleted. */
  readonly offset: number | undefined;
}

/** The offset files of a partition, one per key. */
export class OffsetFiles {
  private readonly io: Io;
  private readonly partitionDirectory: string;
  private readonly created = new Set<OffsetKind>();
  private dirty = new Map<string, Change>();
  /** Changes in the order of their calls. */
  private writing: Promise<unknown> = Promise.resolve();

  constructor(io: Io, partitionDirectory: string) {
    this.io = io;
    this.partitionDirectory = partitionDirectory;
  }

  get dirtyCount(): number {
    return this.dirty.size;
  }

  async load(onWarning: (message: string) => void): Promise<StoredOffset[]> {
    if ((await this.io.list(`${this.partitionDirectory}/${OFFSETS_DIRECTORY}`)) === undefined) return [];
    const loaded = await Promise.all(KINDS.map((kind) => this.loadKind(kind, onWarning)));
    return loaded.flat();
  }

  /** Remembers a change; a durable one is on stable storage when the promise resolves. */
  async change(kind: OffsetKind, id: number, offset: number | undefined, durable: boolean): Promise<void> {
    const key = `${kind}/${id}`;
    const change: Change = { kind, id, offset };
    this.dirty.set(key, change);
    if (!durable) return;
    await this.inOrder(() => this.write([change]));
    if (this.dirty.get(key) === change) this.dirty.delete(key);
  }

  /** Brings every file up to date, durably. What fails stays dirty. */
  async settle(): Promise<void> {
    const changes = this.dirty;
    if (changes.size === 0) return;
    this.dirty = new Map();
    try {
      await this.inOrder(() => this.write([...changes.values()]));
    } catch (error) {
      this.dirty = new Map([...changes, ...this.dirty]);
      throw error;
    }
  }

  private inOrder(work: () => Promise<void>): Promise<void> {
    const done = this.writing.then(work);
    this.writing = done.catch(() => undefined);
    return done;
  }

  private async write(changes: readonly Change[]): Promise<void> {
    for (const kind of KINDS) {
      const ofKind = changes.filter((change) => change.kind === kind);
      if (ofKind.length === 0) continue;
      const directory = await this.create(kind);
      for (let at = 0; at < ofKind.length; at += PARALLEL) {
        await Promise.all(ofKind.slice(at, at + PARALLEL).map((change) => this.writeOne(directory, change)));
      }
      await this.io.syncDirectory(directory);
    }
  }

  private async writeOne(directory: string, { id, offset }: Change): Promise<void> {
    if (offset === undefined) await this.io.remove(`${directory}/${id}`);
    else await putFile(this.io, directory, String(id), [encode(offset)]);
  }

  private directoryOf(kind: OffsetKind): string {
    return `${this.partitionDirectory}/${OFFSETS_DIRECTORY}/${DIRECTORIES[kind]}`;
  }

  private async create(kind: OffsetKind): Promise<string> {
    if (!this.created.has(kind)) {
      await makeDurableDirectory(this.io, this.partitionDirectory, [OFFSETS_DIRECTORY, DIRECTORIES[kind]]);
      this.created.add(kind);
    }
    return this.directoryOf(kind);
  }

  private async loadKind(kind: OffsetKind, onWarning: (message: string) => void): Promise<StoredOffset[]> {
    const directory = this.directoryOf(kind);
    const names = ((await clearLeftovers(this.io, directory)) ?? []).filter((name) => ID.test(name));
    const offsets: StoredOffset[] = [];
    for (let at = 0; at < names.length; at += PARALLEL) {
      await Promise.all(
        names.slice(at, at + PARALLEL).map(async (name) => {
          const offset = decode(await readFile(this.io, `${directory}/${name}`, READ_BYTES_MAX));
          if (typeof offset === "number") offsets.push({ kind, id: Number(name), offset });
          else onWarning(`${directory}/${name}: ${offset}; the stored offset is skipped`);
        }),
      );
    }
    return offsets;
  }
}

function encode(offset: number): Uint8Array {
  const bytes = new Uint8Array(FILE_BYTES);
  const view = viewOf(bytes);
  setU64(view, 0, offset);
  view.setBigUint64(OFFSET_BYTES, xxh3_64(bytes, 0, OFFSET_BYTES), true);
  return bytes;
}

/** The offset, or what is wrong. */
function decode(bytes: Uint8Array | undefined): number | string {
  if (bytes === undefined || (bytes.length !== FILE_BYTES && bytes.length !== OFFSET_BYTES)) return "torn file";
  const view = viewOf(bytes);
  const isIntact =
    bytes.length === OFFSET_BYTES || view.getBigUint64(OFFSET_BYTES, true) === xxh3_64(bytes, 0, OFFSET_BYTES);
  const offset = getU64(view, 0);
  return isIntact && Number.isSafeInteger(offset) ? offset : "wrong checksum";
}
