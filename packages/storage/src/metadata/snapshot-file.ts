import { xxh3_64 } from "@iggy/protocol";
import { getU128, getU64, setU128, setU64, viewOf } from "../bytes.js";
import { DamagedFile } from "../errors.js";
import { readFile, replaceFile } from "../io/files.js";
import type { Io } from "../io/io.js";

/**
 * Snapshot of the metadata state machine.
 *
 *   0 format u32, 10    8 op u64                             32 state
 *   4 4 zero bytes     16 identity of the prepare at op u128   then magic u32 0x49534E50, XXH3-64 of all before as u128
 */
const FORMAT = 10;
const MAGIC = 0x49534e50;
const HEAD_BYTES = 32;
const TRAILER_BYTES = 20;
const NAME = "snapshot.bin";

export interface Snapshot {
  readonly op: number;
  readonly checksum: bigint;
  readonly state: Uint8Array;
}

export async function writeSnapshot(io: Io, directory: string, snapshot: Snapshot): Promise<void> {
  const bytes = new Uint8Array(HEAD_BYTES + snapshot.state.length + TRAILER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, FORMAT, true);
  setU64(view, 8, snapshot.op);
  setU128(view, 16, snapshot.checksum);
  bytes.set(snapshot.state, HEAD_BYTES);
  const end = HEAD_BYTES + snapshot.state.length;
  view.setUint32(end, MAGIC, true);
  setU128(view, end + 4, xxh3_64(bytes, 0, end));
  await replaceFile(io, directory, NAME, [bytes]);
}

/** Undefined when there is none; throws `DamagedFile` when it does not verify or has another format. */
export async function readSnapshot(io: Io, directory: string): Promise<Snapshot | undefined> {
  const path = `${directory}/${NAME}`;
  const bytes = await readFile(io, path);
  if (bytes === undefined) return undefined;
  const end = bytes.length - TRAILER_BYTES;
  const view = viewOf(bytes);
  if (end < HEAD_BYTES || view.getUint32(end, true) !== MAGIC) throw new DamagedFile(path, "no whole snapshot");
  if (getU128(view, end + 4) !== xxh3_64(bytes, 0, end)) throw new DamagedFile(path, "wrong checksum");
  const format = view.getUint32(0, true);
  if (format !== FORMAT) throw new DamagedFile(path, `snapshot format ${format}, this server reads ${FORMAT}`);
  return { op: getU64(view, 8), checksum: getU128(view, 16), state: bytes.subarray(HEAD_BYTES, end) };
}
