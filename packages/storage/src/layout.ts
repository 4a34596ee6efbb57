import { partitionGroup, type PartitionNumbers } from "@iggy/protocol";

/** Names of everything in a data directory. Ids are decimal without padding, segments padded to 20 digits. */

export const METADATA_DIRECTORY = "metadata";
export const INITIALISATION_DIRECTORY = "partition-initialization";
export const STREAMS_DIRECTORY = "streams";
export const CREATION_RECORD = "created.revision";
export const RETIREMENT_FENCE = "retirement.fence";
export const CHECKPOINT_FILE = "checkpoint";
export const LOG_SUFFIX = ".log";
export const INDEX_SUFFIX = ".index";
export const JOURNAL_SUFFIX = ".wal";

/** A partition by the ids that name its directory. */
export type PartitionId = PartitionNumbers;

export function partitionSteps(id: PartitionId): string[] {
  return [STREAMS_DIRECTORY, String(id.streamId), "topics", String(id.topicId), "partitions", String(id.partitionId)];
}

export function partitionDirectory(dataDirectory: string, id: PartitionId): string {
  return [dataDirectory, ...partitionSteps(id)].join("/");
}

export function initialisationDirectory(dataDirectory: string, id: PartitionId): string {
  return `${dataDirectory}/${INITIALISATION_DIRECTORY}/${partitionGroup(id)}`;
}

export function journalDirectoryName(incarnation: number): string {
  return `prepares-${incarnation}`;
}

const NUMBER_DIGITS = 20;

/** File name that sorts as its number does. */
export function numbered(value: number, suffix: string): string {
  return String(value).padStart(NUMBER_DIGITS, "0") + suffix;
}

/** The numbers of the files with this suffix, ascending; other names are none of the storage's business. */
export function numbersOf(names: readonly string[], suffix: string): number[] {
  return names
    .filter((name) => name.length === NUMBER_DIGITS + suffix.length && name.endsWith(suffix))
    .map((name) => name.slice(0, NUMBER_DIGITS))
    .filter((digits) => /^\d+$/.test(digits) && Number.isSafeInteger(Number(digits)))
    .map(Number)
    .sort((a, b) => a - b);
}
