import { asError } from "../as-error.js";
import { AsyncZipDeflate, Zip, ZipPassThrough } from "fflate";

/** A file of the archive; its pieces are written back to back. */
export interface ArchiveEntry {
  readonly name: string;
  readonly pieces: readonly Uint8Array[];
}

/** Bytes handed over between two turns of the event loop, so that checksumming them never stalls requests. */
const SLICE_BYTES = 128 * 1024;

/** A ZIP in memory. Deflating runs off this thread. */
export async function archive(entries: readonly ArchiveEntry[], isDeflated: boolean): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const finished = new Promise<void>((resolve, reject) => {
    const zip = new Zip((error, chunk, isFinal) => {
      if (error !== null) {
        reject(error);
        return;
      }
      chunks.push(chunk);
      if (isFinal) resolve();
    });
    fill(zip, entries, isDeflated).catch((error: unknown) => {
      zip.terminate();
      reject(asError(error));
    });
  });
  await finished;
  return Buffer.concat(chunks);
}

async function fill(zip: Zip, entries: readonly ArchiveEntry[], isDeflated: boolean): Promise<void> {
  for (const { name, pieces } of entries) {
    const file = isDeflated ? new AsyncZipDeflate(name, { level: 6 }) : new ZipPassThrough(name);
    zip.add(file);
    for (const piece of pieces) {
      for (let start = 0; start < piece.length; start += SLICE_BYTES) {
        // A copy (which `Buffer.slice` would not be): the deflating thread takes possession of what it gets.
        file.push(new Uint8Array(piece.subarray(start, start + SLICE_BYTES)), false);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    }
    file.push(new Uint8Array(0), true);
  }
  zip.end();
}
