import { getU128, viewOf } from "../codec/integers.js";
import { FrameCommand } from "../enums/index.js";
import { xxh3_64, xxh3_64Into } from "../hash/index.js";
import { FrameError } from "./frame-error.js";
import { HEADER_SIZE } from "./size.js";

/** A seal covers everything after the checksum, the body checksum included. */
const SEALED_FROM = 16;
const VIEW_OFFSET = 52;
const COMMAND_OFFSET = 60;

const words = new Uint32Array(2);
const scratch = new Uint8Array(HEADER_SIZE);

/** Checksum of a sealed header: XXH3-64 of its bytes 16..256. */
export function headerChecksum(bytes: Uint8Array, offset = 0): bigint {
  return xxh3_64(bytes, offset + SEALED_FROM, HEADER_SIZE - SEALED_FROM);
}

/** Stores the seal of a replica control header; the last thing written to it. */
export function sealHeader(bytes: Uint8Array, offset = 0): void {
  storeChecksum(bytes, offset, headerChecksum(bytes, offset));
}

/** Whether a sealed header is intact. A header that was never sealed is not. */
export function verifySeal(bytes: Uint8Array, offset = 0): boolean {
  xxh3_64Into(words, bytes, offset + SEALED_FROM, HEADER_SIZE - SEALED_FROM);
  return storedIs(bytes, offset);
}

/**
 * Identity of a logged operation: XXH3-64 of its prepare header with checksum (0..16) and view (52..56) read as zero. A
 * RepairPrepare has the identity of the prepare that it repairs.
 */
export function prepareIdentity(bytes: Uint8Array, offset = 0): bigint {
  return xxh3_64(identityBytes(bytes, offset));
}

/** Whether a prepare, or a repair of one, carries its own identity. */
export function verifyPrepare(bytes: Uint8Array, offset = 0): boolean {
  xxh3_64Into(words, identityBytes(bytes, offset), 0, HEADER_SIZE);
  return storedIs(bytes, offset);
}

function identityBytes(bytes: Uint8Array, offset: number): Uint8Array {
  if (!(offset >= 0 && offset + HEADER_SIZE <= bytes.length)) {
    throw new FrameError("InvalidSize", `no header at ${String(offset)} of ${String(bytes.length)} bytes`);
  }
  scratch.set(bytes.subarray(offset, offset + HEADER_SIZE));
  scratch.fill(0, 0, SEALED_FROM);
  scratch.fill(0, VIEW_OFFSET, VIEW_OFFSET + 4);
  if (scratch[COMMAND_OFFSET] === FrameCommand.RepairPrepare) scratch[COMMAND_OFFSET] = FrameCommand.Prepare;
  return scratch;
}

/** Stores a 64-bit checksum, zero-extended, at the start of a header. */
export function storeChecksum(bytes: Uint8Array, offset: number, checksum: bigint): void {
  const view = viewOf(bytes);
  view.setBigUint64(offset, checksum, true);
  view.setBigUint64(offset + 8, 0n, true);
}

/** The checksum that a header carries. */
export function storedChecksum(bytes: Uint8Array, offset = 0): bigint {
  return getU128(viewOf(bytes), offset);
}

function storedIs(bytes: Uint8Array, offset: number): boolean {
  const view = viewOf(bytes);
  return (
    view.getUint32(offset, true) === words[0] &&
    view.getUint32(offset + 4, true) === words[1] &&
    view.getBigUint64(offset + 8, true) === 0n
  );
}
