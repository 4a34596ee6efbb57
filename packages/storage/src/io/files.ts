import type { Io, IoFile } from "./io.js";
import type { WritePace } from "../shard/write-pace.js";
import { isMissing } from "./os-error.js";

const TEMPORARY_SUFFIX = ".tmp";
/** More bytes would hold up the event loop for milliseconds, at the 26 to 60 µs that 250 KB take. */
export const WRITE_NOW_BYTES_MAX = 8 * 1024 * 1024;
const LEFTOVER_SUFFIXES = [TEMPORARY_SUFFIX, ".staging"];

export function isLeftover(name: string): boolean {
  return LEFTOVER_SUFFIXES.some((suffix) => name.endsWith(suffix));
}

/** Removes what an interrupted replacement or transfer left behind, and gives the names that stay. */
export async function clearLeftovers(io: Io, directory: string): Promise<readonly string[] | undefined> {
  const names = await io.list(directory);
  if (names === undefined) return undefined;
  await Promise.all(names.filter(isLeftover).map((name) => io.removeTree(`${directory}/${name}`)));
  return names.filter((name) => !isLeftover(name));
}

/** Opens, uses and closes a file. */
export async function withFile<T>(
  io: Io,
  path: string,
  mode: "read" | "write",
  use: (file: IoFile) => Promise<T>,
): Promise<T> {
  const file = await io.open(path, mode);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** Writes at once where the file can do that and it does not take long, which is less work than waiting for it. */
export async function writeSoon(
  file: IoFile,
  buffers: readonly Uint8Array[],
  position: number,
  pace: WritePace,
): Promise<void> {
  if (file.writeNow === undefined || lengthOf(buffers) > WRITE_NOW_BYTES_MAX || !pace.begin()) {
    await file.write(buffers, position);
  } else {
    file.writeNow(buffers, position);
    pace.end();
  }
}

function lengthOf(buffers: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const { length } of buffers) bytes += length;
  return bytes;
}

/** The bytes of a file, or undefined when it does not exist. A file above `bytesMax` is refused unread. */
export async function readFile(io: Io, path: string, bytesMax = Infinity): Promise<Uint8Array | undefined> {
  try {
    return await withFile(io, path, "read", async (file) => {
      const size = await file.size();
      if (size > bytesMax) throw new RangeError(`${path} has ${size} bytes, more than the ${bytesMax} it may have`);
      const bytes = new Uint8Array(size);
      return bytes.subarray(0, await file.read(bytes, 0));
    });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Writes a file that did not hold anything worth keeping, and syncs it; its name still needs a directory sync. */
export async function writeFile(io: Io, path: string, pieces: readonly Uint8Array[]): Promise<void> {
  await withFile(io, path, "write", async (file) => {
    await file.truncate(0);
    await file.write(pieces, 0);
    await file.sync();
  });
}

/**
 * Replaces a file in one step: after any failure the old bytes are intact. Its new name is on stable storage only after a
 * sync of the directory, which many replacements can share.
 */
export async function putFile(io: Io, directory: string, name: string, pieces: readonly Uint8Array[]): Promise<void> {
  const temporary = `${directory}/${name}${TEMPORARY_SUFFIX}`;
  await writeFile(io, temporary, pieces);
  await io.rename(temporary, `${directory}/${name}`);
}

/** Atomic replacement, durable when it resolves. */
export async function replaceFile(
  io: Io,
  directory: string,
  name: string,
  pieces: readonly Uint8Array[],
): Promise<void> {
  await putFile(io, directory, name, pieces);
  await io.syncDirectory(directory);
}

/** Creates a directory below `root`, which exists, and makes the names on the way to it durable. */
export async function makeDurableDirectory(io: Io, root: string, steps: readonly string[]): Promise<void> {
  await io.makeDirectory([root, ...steps].join("/"));
  await Promise.all(steps.map((_, depth) => io.syncDirectory([root, ...steps.slice(0, depth)].join("/"))));
}

/**
 * Runs tasks, at most so many at a time. A task that fails keeps the rest from beginning; its error is thrown once
 * everything that had begun is over.
 */
export async function runBounded(tasks: readonly (() => Promise<unknown>)[], most: number): Promise<void> {
  const failures: unknown[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    for (let task = tasks[next++]; task !== undefined && failures.length === 0; task = tasks[next++]) {
      await task().catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, tasks.length) }, run));
  if (failures.length > 0) throw failures[0];
}
