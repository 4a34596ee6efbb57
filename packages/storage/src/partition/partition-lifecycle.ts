import { partitionGroup } from "@iggy/protocol";
import type { PartitionOptions } from "../contracts.js";
import { PartitionFenced } from "../errors.js";
import { clearLeftovers, makeDurableDirectory, putFile, replaceFile, withFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { isMissing } from "../io/os-error.js";
import {
  CHECKPOINT_FILE,
  CREATION_RECORD,
  INITIALISATION_DIRECTORY,
  initialisationDirectory,
  JOURNAL_SUFFIX,
  journalDirectoryName,
  LOG_SUFFIX,
  numbered,
  numbersOf,
  partitionDirectory,
  type PartitionId,
  partitionSteps,
  RETIREMENT_FENCE,
  STREAMS_DIRECTORY,
} from "../layout.js";
import { RecordKind } from "../records/sealed-record.js";
import { Superblock } from "../records/superblock.js";
import { readIncarnation, sealIncarnation } from "./creation-record.js";
import { encodeJournalHeader, JOURNAL_HEADER_BYTES } from "./journal-file.js";

export interface Admission {
  /** True when it never served and holds nothing. */
  readonly fresh: boolean;
  readonly superblock: Superblock;
}

/**
 * Decides whether this incarnation may be opened, and completes its initialisation when it was never in service. The
 * record outside of the partition's directory is written last: once it is there, a log that is gone is a loss and no
 * beginning. Throws `PartitionFenced`; a fenced partition's files stay as they are.
 */
export async function admitPartition(io: Io, dataDirectory: string, options: PartitionOptions): Promise<Admission> {
  const directory = partitionDirectory(dataDirectory, options);
  const outside = initialisationDirectory(dataDirectory, options);
  const { incarnation } = options;
  const fence = (reason: PartitionFenced["reason"], detail: string): PartitionFenced =>
    new PartitionFenced(reason, directory, detail);

  const [retired, published, created] = await Promise.all([
    readIncarnation(io, `${outside}/${RETIREMENT_FENCE}`, RecordKind.retirement),
    readIncarnation(io, `${outside}/${CREATION_RECORD}`, RecordKind.creation),
    readIncarnation(io, `${directory}/${CREATION_RECORD}`, RecordKind.creation),
  ]);
  if (retired === incarnation) throw fence("retired", `${RETIREMENT_FENCE} keeps incarnation ${incarnation} offline`);
  for (const found of [retired, published, created]) {
    if (found !== undefined && found > incarnation) {
      throw fence("metadata-older-than-partition", `made by incarnation ${found}, metadata knows ${incarnation}`);
    }
  }
  const wasInService = published === incarnation;
  if (created !== undefined && created < incarnation) {
    if (wasInService) throw fence("missing-history", `holds incarnation ${created} instead of ${incarnation}`);
    await clearPartition(io, directory);
  }
  if (!wasInService) return initialise(io, dataDirectory, directory, options);
  const { superblock, journalFiles } = await findParts(io, directory, incarnation);
  if (superblock === undefined || journalFiles === 0) {
    throw fence("missing-history", `incarnation ${incarnation} was in service and its log is gone; restore a backup`);
  }
  if (created === undefined) await adopt(io, directory, options);
  return { fresh: false, superblock };
}

/** Creates what is missing of a partition that never served, then publishes it. */
async function initialise(
  io: Io,
  dataDirectory: string,
  directory: string,
  options: PartitionOptions,
): Promise<Admission> {
  const { incarnation } = options;
  const names = (await clearLeftovers(io, directory)) ?? [];
  const found = await findParts(io, directory, incarnation);
  const hasHistory = found.hasEntries || (await holdsMessages(io, directory, names));
  if (hasHistory && (found.superblock === undefined || found.journalFiles === 0)) {
    throw new PartitionFenced("missing-history", directory, "holds operations but no whole log");
  }
  const isOurs = names.includes(CREATION_RECORD);
  if (hasHistory && !isOurs) await adopt(io, directory, options);
  const journalDirectory = `${directory}/${journalDirectoryName(incarnation)}`;
  const creation = [sealIncarnation(RecordKind.creation, incarnation)];
  const outside = initialisationDirectory(dataDirectory, options);
  await Promise.all([
    makeDurableDirectory(io, `${dataDirectory}/${STREAMS_DIRECTORY}`, partitionSteps(options).slice(1)),
    makeDurableDirectory(io, `${dataDirectory}/${INITIALISATION_DIRECTORY}`, [String(partitionGroup(options))]),
  ]);
  await io.makeDirectory(journalDirectory);
  const [superblock] = await Promise.all([
    found.superblock ?? createSuperblock(io, directory, options),
    isOurs || hasHistory ? undefined : putFile(io, directory, CREATION_RECORD, creation),
    numbersOf(names, LOG_SUFFIX).length > 0 ? undefined : createEmpty(io, `${directory}/${numbered(0, LOG_SUFFIX)}`),
    found.journalFiles > 0 ? undefined : createJournal(io, journalDirectory, options),
  ]);
  // Also what an earlier attempt left may be in the operating system's memory only.
  await Promise.all([io.syncDirectory(journalDirectory), io.syncDirectory(directory)]);
  await replaceFile(io, outside, CREATION_RECORD, creation);
  return { fresh: !hasHistory, superblock };
}

async function adopt(io: Io, directory: string, options: PartitionOptions): Promise<void> {
  options.onWarning(`${directory}: adopting a nonempty partition directory without created.revision`);
  await replaceFile(io, directory, CREATION_RECORD, [sealIncarnation(RecordKind.creation, options.incarnation)]);
}

interface Parts {
  readonly superblock: Superblock | undefined;
  readonly journalFiles: number;
  readonly hasEntries: boolean;
}

async function findParts(io: Io, directory: string, incarnation: number): Promise<Parts> {
  const journal = `${directory}/${journalDirectoryName(incarnation)}`;
  const [superblock, names] = await Promise.all([Superblock.read(io, directory), io.list(journal)]);
  const files = numbersOf(names ?? [], JOURNAL_SUFFIX).map(
    (firstOp) => `${journal}/${numbered(firstOp, JOURNAL_SUFFIX)}`,
  );
  return { superblock, journalFiles: files.length, hasEntries: await anyLargerThan(io, files, JOURNAL_HEADER_BYTES) };
}

async function holdsMessages(io: Io, directory: string, names: readonly string[]): Promise<boolean> {
  if (names.includes(CHECKPOINT_FILE)) return true;
  const logs = numbersOf(names, LOG_SUFFIX).map((start) => `${directory}/${numbered(start, LOG_SUFFIX)}`);
  return anyLargerThan(io, logs, 0);
}

async function anyLargerThan(io: Io, paths: readonly string[], bytes: number): Promise<boolean> {
  for (const path of paths) {
    if ((await withFile(io, path, "read", (file) => file.size())) > bytes) return true;
  }
  return false;
}

function createEmpty(io: Io, path: string): Promise<void> {
  return withFile(io, path, "write", () => Promise.resolve());
}

async function createJournal(io: Io, journalDirectory: string, options: PartitionOptions): Promise<void> {
  const header = encodeJournalHeader({
    incarnation: options.incarnation,
    firstOp: 1,
    previous: 0n,
    logView: options.createdView,
  });
  await putFile(io, journalDirectory, numbered(1, JOURNAL_SUFFIX), [header]);
}

async function createSuperblock(io: Io, directory: string, options: PartitionOptions): Promise<Superblock> {
  return Superblock.create(io, directory, {
    cluster: options.clusterId,
    replica: options.replicaId,
    replicaCount: options.replicaCount,
    view: options.createdView,
    logView: options.createdView,
    commitMax: 0,
    checkpointOp: 0,
    checkpointChecksum: 0n,
    nextOffset: 0,
    reservedOffset: options.offsetReservationLease,
    createdView: options.createdView,
    incarnation: options.incarnation,
    retryCapacity: options.retryCapacity,
    bootId: await io.bootId(),
    syncedOp: 0,
  });
}

/** The record of who made it goes last: what a crash leaves is known to be old, and is never adopted. */
async function clearPartition(io: Io, directory: string): Promise<void> {
  const names = await io.list(directory);
  if (names === undefined) return;
  for (const name of names) {
    if (name !== CREATION_RECORD) await io.removeTree(`${directory}/${name}`);
  }
  await io.syncDirectory(directory);
  await io.removeTree(directory);
}

/**
 * Deletes a partition whose removal metadata has committed: its directory first, then the record that it was in
 * service, so that a crash between the two can't leave messages behind without it.
 */
export async function removePartition(io: Io, dataDirectory: string, id: PartitionId): Promise<void> {
  const steps = partitionSteps(id);
  await clearPartition(io, partitionDirectory(dataDirectory, id));
  await syncIfPresent(io, [dataDirectory, ...steps.slice(0, -1)].join("/"));
  await io.removeTree(initialisationDirectory(dataDirectory, id));
  await io.syncDirectory(`${dataDirectory}/${INITIALISATION_DIRECTORY}`);
  // partitions, topic, topics, stream: each goes when its last child went.
  for (let depth = steps.length - 1; depth > 1; depth--) {
    await io.removeEmptyDirectory([dataDirectory, ...steps.slice(0, depth)].join("/"));
  }
}

/** A neighbour that is removed at the same time takes the empty parent with it. */
async function syncIfPresent(io: Io, directory: string): Promise<void> {
  try {
    await io.syncDirectory(directory);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** Keeps an incarnation that failed for good offline on this and every later start, whatever becomes of its directory. */
export async function retirePartition(
  io: Io,
  dataDirectory: string,
  id: PartitionId,
  incarnation: number,
): Promise<void> {
  await makeDurableDirectory(io, `${dataDirectory}/${INITIALISATION_DIRECTORY}`, [String(partitionGroup(id))]);
  const outside = initialisationDirectory(dataDirectory, id);
  await replaceFile(io, outside, RETIREMENT_FENCE, [sealIncarnation(RecordKind.retirement, incarnation)]);
}

/** Every partition that has a directory, for removing those that metadata no longer knows. */
export async function storedPartitions(io: Io, dataDirectory: string): Promise<PartitionId[]> {
  const found: PartitionId[] = [];
  const streams = `${dataDirectory}/${STREAMS_DIRECTORY}`;
  for (const streamId of await idsIn(io, streams)) {
    const topics = `${streams}/${streamId}/topics`;
    for (const topicId of await idsIn(io, topics)) {
      const partitions = `${topics}/${topicId}/partitions`;
      for (const partitionId of await idsIn(io, partitions)) found.push({ streamId, topicId, partitionId });
    }
  }
  return found;
}

async function idsIn(io: Io, directory: string): Promise<number[]> {
  const names = (await io.list(directory)) ?? [];
  return names.filter((name) => /^(0|[1-9]\d{0,6})$/.test(name)).map(Number);
}
