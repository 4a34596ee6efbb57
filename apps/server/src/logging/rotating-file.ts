import { writeSync } from "node:fs";
import { mkdir, open, readdir, rename, stat, unlink, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { timerMillis } from "../timer-limit.js";

/** Bytes of lines that may wait for the disk. A line above it is counted and dropped, never waited for. */
const QUEUE_BYTES_MAX = 4 * 2 ** 20;
/** Bytes written in one go. */
const BATCH_BYTES_MAX = 256 * 2 ** 10;

export interface RotatingFileOptions {
  readonly directory: string;
  readonly name: string;
  /** Rotate at this size; 0 never rotates. A single longer line still gets a file. */
  readonly maxFileSizeBytes: number;
  /** Delete the oldest rotated files above this total, the file in use included in the sum; 0 is no limit. */
  readonly maxTotalSizeBytes: number;
  /** Delete rotated files whose last write is older; 0 keeps them. */
  readonly retentionMillis: number;
  readonly checkIntervalMillis: number;
  readonly nowMillis: () => number;
  /** Told once when the disk starts refusing lines, and once when it takes them again. */
  readonly onTrouble: (message: string) => void;
}

/**
 * A log file that rotates by size: `name` is the file in use, `name.1`, `name.2`, ... are full ones, the higher the
 * newer. Writing never blocks the caller and never fails; what the disk refuses is counted and reported.
 */
export class RotatingFile {
  readonly #options: RotatingFileOptions;
  readonly #path: string;
  readonly #timer: NodeJS.Timeout;
  #handle: FileHandle | undefined;
  #sizeBytes = 0;
  #queue: string[] = [];
  #queuedBytes = 0;
  #lostLines = 0;
  #isInTrouble = false;
  #draining: Promise<void> | undefined;

  private constructor(options: RotatingFileOptions, handle: FileHandle, sizeBytes: number) {
    this.#options = options;
    this.#path = join(options.directory, options.name);
    this.#handle = handle;
    this.#sizeBytes = sizeBytes;
    this.#timer = setInterval(() => void this.#tidy(), timerMillis(options.checkIntervalMillis)).unref();
  }

  /** Creates the directory if needed and goes on writing at the end of an existing file. */
  static async open(options: RotatingFileOptions): Promise<RotatingFile> {
    const handle = await openForAppending(options);
    const file = new RotatingFile(options, handle, (await handle.stat()).size);
    await file.#tidy();
    return file;
  }

  /** Queues a line, which ends with its line feed. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#queuedBytes + bytes > QUEUE_BYTES_MAX) {
      this.#lostLines++;
      return;
    }
    this.#queue.push(line);
    this.#queuedBytes += bytes;
    this.#draining ??= this.#drain();
  }

  /** Writes what is queued before the process ends in an unusual way. */
  flushSync(): void {
    const rest = this.#queue.splice(0).join("");
    this.#queuedBytes = 0;
    if (this.#handle === undefined || rest === "") return;
    try {
      writeSync(this.#handle.fd, rest);
    } catch (error) {
      this.#reportTrouble(error);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#draining !== undefined) await this.#draining;
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #drain(): Promise<void> {
    // One turn of the event loop collects the lines of a burst into one write.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#queue.length > 0) {
      const { maxFileSizeBytes } = this.#options;
      const room = maxFileSizeBytes === 0 ? Number.POSITIVE_INFINITY : maxFileSizeBytes - this.#sizeBytes;
      const batch = this.#takeBatch(room);
      try {
        if (batch === undefined) await this.#rotate();
        else await this.#append(batch);
      } catch (error) {
        this.#lostLines += batch?.lines ?? this.#dropQueue();
        this.#reportTrouble(error);
      }
    }
    this.#draining = undefined;
  }

  /** Lines that fit, at least one for an empty file; undefined when the file is full. */
  #takeBatch(room: number): Batch | undefined {
    let bytes = 0;
    let lines = 0;
    for (const line of this.#queue) {
      const size = Buffer.byteLength(line);
      const fits = bytes + size <= Math.min(room, BATCH_BYTES_MAX);
      if (!fits && (lines > 0 || (this.#sizeBytes > 0 && size > room))) break;
      bytes += size;
      lines++;
    }
    if (lines === 0) return undefined;
    this.#queuedBytes -= bytes;
    return { text: this.#queue.splice(0, lines).join(""), bytes, lines };
  }

  async #append({ text, bytes }: Batch): Promise<void> {
    this.#handle ??= await openForAppending(this.#options);
    await this.#handle.appendFile(text);
    this.#sizeBytes += bytes;
    if (!this.#isInTrouble && this.#lostLines === 0) return;
    this.#options.onTrouble(`the log file ${this.#path} lost ${this.#lostLines} lines and is written again`);
    this.#isInTrouble = false;
    this.#lostLines = 0;
  }

  async #rotate(): Promise<void> {
    const full = this.#handle;
    this.#handle = undefined;
    await full?.close();
    this.#handle = await openNext(this.#options);
    this.#sizeBytes = 0;
    await this.#tidy();
  }

  #dropQueue(): number {
    this.#queuedBytes = 0;
    return this.#queue.splice(0).length;
  }

  #reportTrouble(error: unknown): void {
    if (this.#isInTrouble) return;
    this.#isInTrouble = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onTrouble(`the log file ${this.#path} cannot be written: ${reason}`);
  }

  /** Enforces age and total size on the rotated files. */
  async #tidy(): Promise<void> {
    const { maxTotalSizeBytes, retentionMillis, nowMillis } = this.#options;
    try {
      const rotated = await rotatedFiles(this.#options);
      let totalBytes = rotated.reduce((sum, file) => sum + file.sizeBytes, this.#sizeBytes);
      const oldest = retentionMillis === 0 ? Number.NEGATIVE_INFINITY : nowMillis() - retentionMillis;
      for (const file of rotated) {
        const isAboveTotal = maxTotalSizeBytes !== 0 && totalBytes > maxTotalSizeBytes;
        if (!isAboveTotal && file.writtenAtMillis >= oldest) continue;
        await unlink(file.path);
        totalBytes -= file.sizeBytes;
      }
    } catch (error) {
      this.#options.onTrouble(`old log files could not be removed: ${error instanceof Error ? error.message : ""}`);
    }
  }
}

interface Place {
  readonly directory: string;
  readonly name: string;
}

async function openForAppending({ directory, name }: Place): Promise<FileHandle> {
  await mkdir(directory, { recursive: true });
  return open(join(directory, name), "a", 0o640);
}

/** Puts the full file aside under the next number and opens an empty one. A file that somebody removed is no loss. */
async function openNext(place: Place): Promise<FileHandle> {
  const path = join(place.directory, place.name);
  await mkdir(place.directory, { recursive: true });
  const newest = (await rotatedFiles(place)).at(-1)?.number ?? 0;
  await rename(path, `${path}.${newest + 1}`).catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  });
  return openForAppending(place);
}

interface Batch {
  readonly text: string;
  readonly bytes: number;
  readonly lines: number;
}

interface RotatedFile {
  readonly path: string;
  readonly number: number;
  readonly sizeBytes: number;
  readonly writtenAtMillis: number;
}

/** Full files, oldest first. */
async function rotatedFiles({ directory, name }: Place): Promise<RotatedFile[]> {
  const files: RotatedFile[] = [];
  for (const entry of await readdir(directory)) {
    const suffix = entry.startsWith(`${name}.`) ? entry.slice(name.length + 1) : "";
    if (!/^\d{1,15}$/.test(suffix)) continue;
    const path = join(directory, entry);
    const { size, mtimeMs } = await stat(path);
    files.push({ path, number: Number(suffix), sizeBytes: size, writtenAtMillis: mtimeMs });
  }
  return files.sort((a, b) => a.number - b.number);
}

/** Paths of a log's files, oldest first, the file in use last. */
export async function logFiles(directory: string, name: string): Promise<string[]> {
  const rotated = await rotatedFiles({ directory, name });
  return [...rotated.map((file) => file.path), join(directory, name)];
}
