import { PrepareHeader, storedChecksum } from "@iggy/protocol";
import type { JournalEntry, MetadataOptions, MetadataStore, RecoveredMetadata } from "../contracts.js";
import { DamagedFile, StorageRefused } from "../errors.js";
import { clearLeftovers, writeFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { METADATA_DIRECTORY } from "../layout.js";
import { Superblock } from "../records/superblock.js";
import { type JournalContents, JOURNAL_NAME, MetadataJournal, readJournal } from "./metadata-journal.js";
import { FileMetadataStore } from "./metadata-store.js";
import { readSnapshot, type Snapshot } from "./snapshot-file.js";

export interface OpenedMetadata {
  readonly store: MetadataStore;
  readonly recovered: RecoveredMetadata;
}

const RESTORE = "restore a consistent backup of the whole data directory, or start over with --fresh";

/**
 * Opens the metadata log below a data directory: begins one where there is none, else recovers it. Throws
 * `StorageRefused`, before anything is changed, when the files are damaged, contradict each other or belong to another
 * cluster or replica.
 */
export async function openMetadataStore(
  io: Io,
  dataDirectory: string,
  options: MetadataOptions,
): Promise<OpenedMetadata> {
  const directory = `${dataDirectory}/${METADATA_DIRECTORY}`;
  try {
    return await open(io, directory, options);
  } catch (error) {
    if (error instanceof DamagedFile) throw new StorageRefused(directory, error.message, RESTORE, { cause: error });
    throw error;
  }
}

async function open(io: Io, directory: string, options: MetadataOptions): Promise<OpenedMetadata> {
  const existing = await Superblock.read(io, directory);
  const snapshot = await readSnapshot(io, directory);
  const contents = await readJournal(io, directory);
  const bootId = await io.bootId();
  const fresh = existing === undefined;
  if (fresh) {
    if (snapshot !== undefined || (contents?.sizeBytes ?? 0) > 0) {
      throw new StorageRefused(directory, "holds a log but no superblock", RESTORE);
    }
  } else {
    checkIdentity(existing, directory, options);
    if (contents === undefined) throw new StorageRefused(directory, `holds no ${JOURNAL_NAME}`, RESTORE);
    checkPairing(existing, snapshot, directory);
  }
  const found: JournalContents = contents ?? { entries: [], groups: [], sizeBytes: 0, tornBytes: 0 };
  const entries = entriesAbove(snapshot, found.entries, directory);
  if (entries.length > options.journalSlots) {
    throw new StorageRefused(
      directory,
      `${entries.length} entries wait in the journal, metadata.journal_slots allows ${options.journalSlots}`,
      "raise metadata.journal_slots",
    );
  }

  await clearLeftovers(io, directory);
  const superblock = existing ?? (await begin(io, directory, options, bootId));
  const journal = new MetadataJournal(io, directory, found);
  if (found.tornBytes > 0) await journal.cut();
  // What an ended process left may be in the operating system's memory only, and is built upon from here.
  await superblock.sync();
  const snapshotOp = snapshot?.op ?? 0;
  const lastOp = entries.at(-1)?.op ?? snapshotOp;
  const store = new FileMetadataStore({
    io,
    directory,
    journal,
    superblock,
    journalSlots: options.journalSlots,
    prepareQueueDepth: options.prepareQueueDepth,
    lastOp,
    checkpointOp: snapshotOp,
    bootId,
  });
  const { view, logView, commitMax } = superblock.state;
  const frontier = {
    view,
    logView,
    commitMax: Math.min(lastOp, provenCommit(Math.max(commitMax, snapshotOp), entries)),
    checkpointOp: snapshotOp,
    checkpointChecksum: snapshot?.checksum ?? 0n,
  };
  return { store, recovered: { fresh, snapshot: snapshot?.state, snapshotOp, entries, frontier } };
}

/** The journal goes first: with a superblock beside it, a missing journal is a loss. */
async function begin(io: Io, directory: string, options: MetadataOptions, bootId: bigint): Promise<Superblock> {
  await writeFile(io, `${directory}/${JOURNAL_NAME}`, []);
  return Superblock.create(io, directory, {
    cluster: options.clusterId,
    replica: options.replicaId,
    replicaCount: options.replicaCount,
    view: 0,
    logView: 0,
    commitMax: 0,
    checkpointOp: 0,
    checkpointChecksum: 0n,
    nextOffset: 0,
    reservedOffset: 0,
    createdView: 0,
    incarnation: 0,
    retryCapacity: 0,
    bootId,
    syncedOp: 0,
  });
}

function checkIdentity({ state }: Superblock, directory: string, options: MetadataOptions): void {
  const remedy = "check cluster.name, the replica id and the roster, or use the directory of this replica";
  if (state.cluster !== options.clusterId) throw new StorageRefused(directory, "belongs to another cluster", remedy);
  if (state.replica !== options.replicaId || state.replicaCount !== options.replicaCount) {
    throw new StorageRefused(
      directory,
      `belongs to replica ${state.replica} of ${state.replicaCount}, this is replica ${options.replicaId} of ${options.replicaCount}`,
      remedy,
    );
  }
}

/** A snapshot that is newer than the superblock names is whole and taken; an older one has lost its successor. */
function checkPairing({ state }: Superblock, snapshot: Snapshot | undefined, directory: string): void {
  const op = snapshot?.op ?? 0;
  if (op < state.checkpointOp) {
    throw new StorageRefused(
      directory,
      `the superblock names a snapshot at op ${state.checkpointOp}, found is one at op ${op}`,
      RESTORE,
    );
  }
  if (op === state.checkpointOp && (snapshot?.checksum ?? 0n) !== state.checkpointChecksum) {
    throw new StorageRefused(directory, "the snapshot is not the one that the superblock names", RESTORE);
  }
}

const prepare = new PrepareHeader();

/** The entries that the snapshot does not cover, which must continue it. */
function entriesAbove(
  snapshot: Snapshot | undefined,
  entries: readonly JournalEntry[],
  directory: string,
): readonly JournalEntry[] {
  const snapshotOp = snapshot?.op ?? 0;
  const first = entries[0];
  if (first === undefined) return [];
  if (first.op > snapshotOp + 1) {
    throw new StorageRefused(
      directory,
      `the journal begins at op ${first.op}, the snapshot ends at op ${snapshotOp}`,
      RESTORE,
    );
  }
  const next = entries.find((entry) => entry.op === snapshotOp + 1);
  const at = entries.find((entry) => entry.op === snapshotOp);
  const identity = at === undefined ? next && prepare.at(next.header).parent : storedChecksum(at.header);
  if (identity !== undefined && identity !== (snapshot?.checksum ?? 0n)) {
    throw new StorageRefused(directory, `the journal does not continue the snapshot at op ${snapshotOp}`, RESTORE);
  }
  return entries.filter((entry) => entry.op > snapshotOp);
}

/** Highest commit point that is proven: each prepare names the one of its time. */
function provenCommit(known: number, entries: readonly JournalEntry[]): number {
  let commit = known;
  for (const { header } of entries) commit = Math.max(commit, prepare.at(header).commit);
  return commit;
}
