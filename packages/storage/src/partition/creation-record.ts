import { getU64, setU64, viewOf } from "../bytes.js";
import { DamagedFile } from "../errors.js";
import { readFile } from "../io/files.js";
import type { Io } from "../io/io.js";
import { openRecord, type RecordKind, sealRecord } from "../records/sealed-record.js";

/** Payload of `created.revision` and `retirement.fence`: the incarnation u64 that they name. */
const VERSION = 1;
const PAYLOAD_BYTES = 8;
const FILE_BYTES_MAX = 4096;

export function sealIncarnation(kind: RecordKind, incarnation: number): Uint8Array {
  const payload = new Uint8Array(PAYLOAD_BYTES);
  setU64(viewOf(payload), 0, incarnation);
  return sealRecord(kind, VERSION, [payload]);
}

/** Undefined when there is no record; throws `DamagedFile` when it does not verify. */
export async function readIncarnation(io: Io, path: string, kind: RecordKind): Promise<number | undefined> {
  const bytes = await readFile(io, path, FILE_BYTES_MAX);
  if (bytes === undefined) return undefined;
  const payload = openRecord(path, bytes, kind, VERSION);
  if (payload.length !== PAYLOAD_BYTES) throw new DamagedFile(path, "not one revision");
  return getU64(viewOf(payload), 0);
}
