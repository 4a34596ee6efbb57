import { putU128, putU32, putU8 } from "../codec/integers.js";
import { FrameError } from "./frame-error.js";
import { HEADER_SIZE } from "./size.js";

/** Fields of the common prefix that a writer may set. Fields left out are 0. */
export interface CommonFields {
  /** Bytes that follow the header. */
  readonly bodyLength?: number;
  readonly cluster?: bigint;
  readonly view?: number;
  readonly release?: number;
  readonly replica?: number;
}

/** View of the 256 bytes at `offset`, zeroed and with size and command set. */
export function blankHeader(bytes: Uint8Array, offset: number, command: number, bodyLength: number): DataView {
  if (!(offset >= 0 && offset + HEADER_SIZE <= bytes.length)) {
    throw new FrameError("InvalidSize", `no room for a header at ${String(offset)} of ${String(bytes.length)} bytes`);
  }
  bytes.fill(0, offset, offset + HEADER_SIZE);
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, HEADER_SIZE);
  putU32(view, 48, HEADER_SIZE + bodyLength, "frame size");
  view.setUint8(60, command);
  return view;
}

/** The same with the rest of the common prefix. */
export function startHeader(bytes: Uint8Array, offset: number, command: number, fields: CommonFields): DataView {
  const view = blankHeader(bytes, offset, command, fields.bodyLength ?? 0);
  if (fields.cluster !== undefined) putU128(view, 32, fields.cluster, "cluster");
  putU32(view, 52, fields.view ?? 0, "view");
  putU32(view, 56, fields.release ?? 0, "release");
  putU8(view, 61, fields.replica ?? 0, "replica");
  return view;
}
