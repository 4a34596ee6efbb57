import { IggyError, PrepareHeader } from "@iggy/protocol";
import type { GroupFrontier, PartitionOptions, PartitionStore, RecoveredPartition } from "../contracts.js";
import { DamagedFile, PartitionFenced } from "../errors.js";
import type { Io } from "../io/io.js";
import { asError } from "../io/os-error.js";
import { JOURNAL_SUFFIX, journalDirectoryName, numbered, partitionDirectory } from "../layout.js";
import type { Superblock, SuperblockState } from "../records/superblock.js";
import { type Checkpoint, readCheckpoint, writeCheckpoint } from "./checkpoint-file.js";
import { scanJournal } from "./journal-scan.js";
import { LogRecovery, type ProvenLog } from "./log-recovery.js";
import { cutJournal, cutSegments, journalEnd, type RepairInput } from "./log-repair.js";
import { OffsetFiles } from "./offset-files.js";
import { type Admission, admitPartition } from "./partition-lifecycle.js";
import { FilePartitionStore } from "./partition-store.js";
import { PrepareJournal } from "./prepare-journal.js";
import type { SegmentFacts } from "./segment.js";
import { SegmentLog } from "./segment-log.js";
import { SyncDebt } from "./sync-debt.js";

export interface OpenedPartition {
  readonly store: PartitionStore;
  readonly recovered: RecoveredPartition;
}

/**
 * Opens a partition: initialises it when it was never in service, else recovers its log. Throws `PartitionFenced` when it
 * must not serve, whatever the cause; its files then are as they were, and the rest of the server is not concerned.
 */
export async function openPartitionStore(
  io: Io,
  dataDirectory: string,
  options: PartitionOptions,
): Promise<OpenedPartition> {
  const directory = partitionDirectory(dataDirectory, options);
  try {
    const fresh = await admitPartition(io, dataDirectory, options);
    return await recover(io, directory, options, fresh);
  } catch (error) {
    if (error instanceof PartitionFenced) throw error;
    const cause = asError(error);
    const reason = error instanceof DamagedFile ? "unreadable-record" : "disk-fault";
    if (reason === "disk-fault" && error instanceof IggyError) throw error;
    throw new PartitionFenced(reason, directory, cause.message, { cause });
  }
}

async function recover(
  io: Io,
  directory: string,
  options: PartitionOptions,
  { fresh, superblock }: Admission,
): Promise<OpenedPartition> {
  const bootId = await io.bootId();
  await checkIdentity(superblock, directory, options);
  const checkpoint = await readCheckpoint(io, directory);
  checkPairing(superblock.state, checkpoint, directory);
  if (checkpoint !== undefined && checkpoint.op > superblock.state.checkpointOp) {
    const { op: checkpointOp, checksum: checkpointChecksum } = checkpoint;
    await superblock.update((old) => ({ ...old, checkpointOp, checkpointChecksum }));
  }
  const journalDirectory = `${directory}/${journalDirectoryName(options.incarnation)}`;
  const scan = await scanJournal(io, journalDirectory, options.incarnation, checkpoint?.op ?? 0);
  if (scan.logView !== 0 && scan.logView < options.createdView) {
    throw belowCreationView(directory, scan.logView, options, journalDirectoryName(options.incarnation));
  }

  const { state } = superblock;
  const isSameBoot = bootId !== 0n && state.bootId === bootId;
  const { syncedOp } = state;
  const proven = await new LogRecovery({ io, directory, options, checkpoint, scan, syncedOp, isSameBoot }).run();
  const nextOffset = Math.max(
    proven.segments.at(-1)?.nextOffset ?? 0,
    proven.namedOffset,
    state.nextOffset,
    isSameBoot ? 0 : state.reservedOffset,
  );
  if (proven.loss !== undefined) {
    options.onWarning(
      `${directory}: ${proven.loss}; every whole message stays, new ones begin at offset ${nextOffset}`,
    );
  }

  const { incarnation, onWarning } = options;
  const repair: RepairInput = { io, directory, journalDirectory, incarnation, logView: state.logView, onWarning };
  const end = journalEnd(scan, proven.op);
  const isCut = end.isCut || proven.loss !== undefined;
  if (isCut) {
    await superblock.update((old) => ({
      ...old,
      nextOffset: Math.max(old.nextOffset, nextOffset),
      syncedOp: Math.min(old.syncedOp, proven.op),
      commitMax: Math.min(old.commitMax, proven.op),
    }));
  }
  if (end.isCut) {
    onWarning(`${journalDirectory}: the journal goes on behind op ${proven.op}; what followed was torn and is removed`);
    await cutJournal(repair, scan, end);
  }
  const segments = await cutSegments(repair, proven, nextOffset);
  if (checkpoint !== undefined && proven.loss !== undefined) {
    await rewriteCheckpoint(io, directory, checkpoint, proven, nextOffset);
  }

  const debt = new SyncDebt(io);
  const journal = new PrepareJournal(io, journalDirectory, repair, end.state, debt);
  const log = new SegmentLog(io, directory, segments, options, debt);
  owe(debt, log, proven, journalDirectory, end.state.files);
  const offsets = new OffsetFiles(io, directory);
  const recovered: RecoveredPartition = {
    fresh,
    checkpoint: checkpoint === undefined ? undefined : { op: checkpoint.op, state: checkpoint.state },
    entries: proven.entries,
    nextOffset,
    lastTimestampMicros: greatestTimestamp(checkpoint, proven),
    offsets: await offsets.load(onWarning),
    frontier: frontierOf(superblock.state, checkpoint, proven),
  };
  const start = {
    op: proven.op,
    syncedOp: proven.syncedOp,
    nextOffset,
    timestampMicros: recovered.lastTimestampMicros,
  };
  const checkpointOp = checkpoint?.op ?? 0;
  const replayBytes = bytesAbove(checkpoint, segments);
  const parts = {
    io,
    directory,
    options,
    superblock,
    bootId,
    debt,
    journal,
    log,
    offsets,
    checkpointOp,
    replayBytes,
    start,
  };
  return { store: new FilePartitionStore(parts), recovered };
}

async function checkIdentity(superblock: Superblock, directory: string, options: PartitionOptions): Promise<void> {
  const { state } = superblock;
  const isOurs =
    state.cluster === options.clusterId &&
    state.replica === options.replicaId &&
    state.replicaCount === options.replicaCount &&
    state.incarnation === options.incarnation;
  if (!isOurs) {
    throw new PartitionFenced(
      "foreign",
      directory,
      `belongs to replica ${state.replica} of ${state.replicaCount}, incarnation ${state.incarnation}, or to another cluster`,
    );
  }
  const { createdView } = options;
  if (state.logView !== 0 && state.logView < createdView) {
    throw belowCreationView(directory, state.logView, options, "superblock");
  }
  if (state.logView === 0 && state.view < createdView) {
    await superblock.update((old) => ({ ...old, view: createdView }));
  }
}

function belowCreationView(
  directory: string,
  logView: number,
  options: PartitionOptions,
  part: string,
): PartitionFenced {
  return new PartitionFenced(
    "below-creation-view",
    directory,
    `log_view ${logView} of ${part} falls below committed creation view ${options.createdView}`,
  );
}

/** A checkpoint that is newer than the superblock names is whole and taken; an older one has lost its successor. */
function checkPairing(state: SuperblockState, checkpoint: Checkpoint | undefined, directory: string): void {
  const op = checkpoint?.op ?? 0;
  const isPaired =
    op > state.checkpointOp || (op === state.checkpointOp && (checkpoint?.checksum ?? 0n) === state.checkpointChecksum);
  if (isPaired) return;
  throw new PartitionFenced(
    "missing-history",
    directory,
    `the superblock names a checkpoint at op ${state.checkpointOp}, found is one at op ${op}`,
  );
}

/** After a loss the checkpoint counts only what is left. */
async function rewriteCheckpoint(
  io: Io,
  directory: string,
  checkpoint: Checkpoint,
  proven: ProvenLog,
  nextOffset: number,
): Promise<void> {
  const counted = new Set(checkpoint.segments.map((row) => row.startOffset));
  await writeCheckpoint(io, directory, {
    ...checkpoint,
    syncedOp: Math.min(checkpoint.syncedOp, proven.op),
    nextOffset: Math.max(checkpoint.nextOffset, nextOffset),
    segments: proven.segments
      .filter((segment) => counted.has(segment.startOffset) && !segment.isEmpty)
      .map((segment) => segment.facts()),
  });
}

/** What the next recovery would have to verify again. */
function bytesAbove(checkpoint: Checkpoint | undefined, segments: readonly SegmentFacts[]): number {
  const covered = new Map(checkpoint?.segments.map(({ startOffset, sizeBytes }) => [startOffset, sizeBytes]));
  let bytes = 0;
  for (const { startOffset, sizeBytes } of segments) bytes += Math.max(0, sizeBytes - (covered.get(startOffset) ?? 0));
  return bytes;
}

/** What recovery took over unsynced must be synced before anything behind it may count as durable. */
function owe(
  debt: SyncDebt,
  log: SegmentLog,
  proven: ProvenLog,
  journalDirectory: string,
  files: readonly { readonly firstOp: number }[],
): void {
  // The newest files and their names may be so new that not even their first operation was synced.
  const isSynced = proven.syncedOp >= proven.op;
  const segments = isSynced ? [log.active] : [log.active, ...proven.unsynced];
  for (const segment of segments) debt.addFile(log.pathOf(segment));
  for (const { firstOp } of isSynced ? files.slice(-1) : files) {
    debt.addFile(`${journalDirectory}/${numbered(firstOp, JOURNAL_SUFFIX)}`);
  }
  debt.addDirectory(log.directory);
  debt.addDirectory(journalDirectory);
}

const prepare = new PrepareHeader();

function greatestTimestamp(checkpoint: Checkpoint | undefined, proven: ProvenLog): number {
  let greatest = checkpoint?.timestampMicros ?? 0;
  for (const { newestTimestampMicros } of proven.segments) greatest = Math.max(greatest, newestTimestampMicros);
  for (const { entry } of proven.entries) greatest = Math.max(greatest, prepare.at(entry.header).timestamp);
  return greatest;
}

function frontierOf(state: SuperblockState, checkpoint: Checkpoint | undefined, proven: ProvenLog): GroupFrontier {
  let commitMax = Math.max(state.commitMax, checkpoint?.op ?? 0);
  for (const { entry } of proven.entries) commitMax = Math.max(commitMax, prepare.at(entry.header).commit);
  return {
    view: state.view,
    logView: state.logView,
    commitMax: Math.min(commitMax, proven.op),
    checkpointOp: checkpoint?.op ?? 0,
    checkpointChecksum: checkpoint?.checksum ?? 0n,
  };
}
