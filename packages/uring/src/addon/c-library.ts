import { closeSync, openSync, readSync } from "node:fs";

/** The C library that a program asks for: prebuilt addons are made for one of the two. */
export type CLibrary = "glibc" | "musl" | "unknown";

const HEADER_BYTES = 4096;
const INTERPRETER = 3;

/**
 * Reads which dynamic loader a program names, by default the running one. That is what decides whether an addon can be
 * loaded, not what else is installed.
 */
export function cLibraryOf(program: string = process.execPath): CLibrary {
  const interpreter = interpreterOf(program);
  if (interpreter?.includes("ld-musl") === true) return "musl";
  if (interpreter?.includes("ld-linux") === true) return "glibc";
  return "unknown";
}

/** The interpreter entry of a 64-bit little-endian ELF file. */
function interpreterOf(program: string): string | undefined {
  const header = readAt(program, 0, HEADER_BYTES);
  if (header === undefined || header.length < 64 || header.toString("latin1", 1, 4) !== "ELF") return undefined;
  const start = Number(header.readBigUInt64LE(32));
  const entryBytes = header.readUInt16LE(54);
  const count = header.readUInt16LE(56);
  for (let at = start; at < start + entryBytes * count && at + 56 <= header.length; at += entryBytes) {
    if (header.readUInt32LE(at) !== INTERPRETER) continue;
    const offset = Number(header.readBigUInt64LE(at + 8));
    const length = Number(header.readBigUInt64LE(at + 32));
    return readAt(program, offset, Math.min(length, HEADER_BYTES))?.toString("utf8").replace(/\0.*$/s, "");
  }
  return undefined;
}

function readAt(path: string, position: number, length: number): Buffer | undefined {
  try {
    const descriptor = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Not readable tells as little as not an ELF file.
    return undefined;
  }
}
