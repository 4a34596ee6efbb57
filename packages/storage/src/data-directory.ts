import { dirname } from "node:path";
import { StorageRefused } from "./errors.js";
import { clearLeftovers, isLeftover, makeDurableDirectory, readFile, replaceFile } from "./io/files.js";
import type { Io } from "./io/io.js";
import { asError } from "./io/os-error.js";
import { INITIALISATION_DIRECTORY, METADATA_DIRECTORY, STREAMS_DIRECTORY } from "./layout.js";

/**
 * Name of the storage contract, and of our form of its bytes behind the slash. The number after `ts.` grows with each
 * incompatible change of ours; nothing is ever migrated in place.
 */
export const STORAGE_FORMAT = "IGGY-OWNERSHIP-HISTORY-5/ts.1";

const MARKER_FILE = "storage-format";
const MARKER_BYTES_MAX = 256;
const MARKER_TEXT = `${STORAGE_FORMAT}\n`;
const LOCK_FILE = ".lock";
const WORKING_DIRECTORIES = ["runtime", "logs", "state"];

export interface DataDirectory {
  readonly path: string;
  /** True when it held nothing before. */
  readonly fresh: boolean;
  /** Gives the directory up; the end of the process does too. */
  release(): Promise<void>;
}

/**
 * The storage gate. A directory that is not ours is refused before anything in it is changed; ours is locked against a
 * second server. With `fresh` everything in it is deleted first. Throws `StorageRefused`.
 */
export async function openDataDirectory(
  io: Io,
  path: string,
  options: { readonly fresh?: boolean } = {},
): Promise<DataDirectory> {
  const wipe = options.fresh === true;
  try {
    if (!wipe) await judge(io, path);
    await createRoot(io, path);
    const lock = await io.lock(`${path}/${LOCK_FILE}`);
    if (lock === undefined) {
      throw new StorageRefused(path, "another server uses this directory", "stop it, or configure another path");
    }
    try {
      if (wipe) await wipeOut(io, path);
      const found = await judge(io, path);
      if (found === "empty") await initialise(io, path);
      await prepare(io, path);
      return { path, fresh: found === "empty", release: () => lock.release() };
    } catch (error) {
      await lock.release();
      throw error;
    }
  } catch (error) {
    if (error instanceof StorageRefused) throw error;
    const cause = asError(error);
    throw new StorageRefused(path, `cannot be used (${cause.message})`, "check the path, its owner and the disk", {
      cause,
    });
  }
}

type Finding = "empty" | "ours";

const CHOICES =
  "restore a backup of this format, migrate it offline, choose another path, or delete it with --fresh, " +
  "which deletes data directories only";

/** Looks without touching. */
async function judge(io: Io, path: string): Promise<Finding> {
  const names = (await io.list(path)) ?? [];
  const contents = names.filter((name) => !name.startsWith(LOCK_FILE));
  const marker = await readFile(io, `${path}/${METADATA_DIRECTORY}/${MARKER_FILE}`, MARKER_BYTES_MAX);
  if (marker === undefined) {
    if (await isUntouched(io, path, contents)) return "empty";
    throw new StorageRefused(path, "holds files but no storage format marker", CHOICES);
  }
  const text = new TextDecoder().decode(marker);
  if (text === MARKER_TEXT) return "ours";
  const found = JSON.stringify(text.trim());
  throw new StorageRefused(path, `holds data of format ${found}, this server reads ${STORAGE_FORMAT}`, CHOICES);
}

/** Empty, or left by an initialisation that was cut off before its marker. */
async function isUntouched(io: Io, path: string, contents: readonly string[]): Promise<boolean> {
  if (contents.length === 0) return true;
  if (contents.length > 1 || contents[0] !== METADATA_DIRECTORY) return false;
  const inside = (await io.list(`${path}/${METADATA_DIRECTORY}`)) ?? [];
  return inside.every(isLeftover);
}

async function createRoot(io: Io, path: string): Promise<void> {
  const missing: string[] = [];
  for (let step = path; (await io.list(step)) === undefined && dirname(step) !== step; step = dirname(step)) {
    missing.push(step);
  }
  if (missing.length === 0) return;
  await io.makeDirectory(path);
  for (const step of missing) await io.syncDirectory(dirname(step));
}

/** The marker goes first: a wipe that is cut off leaves a directory that is refused, not half a history. */
async function wipeOut(io: Io, path: string): Promise<void> {
  const metadata = `${path}/${METADATA_DIRECTORY}`;
  if ((await io.list(metadata)) !== undefined) {
    await io.remove(`${metadata}/${MARKER_FILE}`);
    await io.syncDirectory(metadata);
  }
  for (const name of (await io.list(path)) ?? []) {
    if (!name.startsWith(LOCK_FILE)) await io.removeTree(`${path}/${name}`);
  }
  await io.syncDirectory(path);
}

async function initialise(io: Io, path: string): Promise<void> {
  await makeDurableDirectory(io, path, [METADATA_DIRECTORY]);
  await replaceFile(io, `${path}/${METADATA_DIRECTORY}`, MARKER_FILE, [new TextEncoder().encode(MARKER_TEXT)]);
}

async function prepare(io: Io, path: string): Promise<void> {
  await Promise.all(
    [STREAMS_DIRECTORY, INITIALISATION_DIRECTORY, ...WORKING_DIRECTORIES].map((name) =>
      io.makeDirectory(`${path}/${name}`),
    ),
  );
  await io.syncDirectory(path);
  await clearLeftovers(io, `${path}/${METADATA_DIRECTORY}`);
}
