import { describe, expect, it } from "vitest";
import { writeEviction, writePrepareHeader, writeReplyHeader, writeRequestHeader } from "../../src/frames/index.js";
import { loadVectors } from "../golden.js";

type Offsets = Readonly<Record<string, number>>;
const { layout_offsets }: { readonly layout_offsets: Readonly<Record<string, Offsets>> } = loadVectors("frames");

const camel = (name: string): string => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const zero = { client: 0n, op: 0, timestamp: 0, operation: 0, group: 0, request: 0, reason: 0 };

interface Writer {
  readonly layout: string;
  readonly write: (bytes: Uint8Array, fields: object) => void;
  /** Golden names whose field is called otherwise here, or is not written by itself. */
  readonly renamed?: Readonly<Record<string, string>>;
}
const writers: readonly Writer[] = [
  {
    layout: "request",
    write: (bytes, fields) => {
      writeRequestHeader(bytes, 0, { ...zero, ...fields });
    },
    renamed: { reserved: "commandCode" },
  },
  {
    layout: "routed_request",
    write: (bytes, fields) => {
      writeRequestHeader(bytes, 0, { ...zero, ...fields });
    },
  },
  {
    layout: "reply",
    write: (bytes, fields) => {
      writeReplyHeader(bytes, 0, { ...zero, ...fields });
    },
    renamed: { reserved: "isCommitted" },
  },
  {
    layout: "eviction",
    write: (bytes, fields) => {
      writeEviction(bytes, 0, { ...zero, ...fields });
    },
  },
  {
    layout: "prepare",
    write: (bytes, fields) => {
      writePrepareHeader(bytes, 0, { ...zero, ...fields });
      // The identity covers every field; it is not what is looked for.
      bytes.fill(0, 0, 16);
    },
  },
];
const big = new Set(["cluster", "client", "requestChecksum", "parent"]);
const unwritten = new Set([
  "reserved_tail",
  "context",
  "reserved_frame",
  "reserved_command",
  "checksum",
  "checksum_body",
]);

describe.each(writers)("the $layout layout", ({ layout, write, renamed }) => {
  const fields = Object.entries({ ...layout_offsets["common"], ...layout_offsets[layout] }).filter(
    ([name]) => !unwritten.has(name) && name !== "size" && name !== "command",
  );

  it.each(fields)("has %s at byte %i and nowhere else", (name, offset) => {
    const blank = new Uint8Array(256);
    write(blank, {});
    const marked = new Uint8Array(256);
    const field = renamed?.[name] ?? camel(name);
    write(marked, { [field]: field === "isCommitted" ? true : big.has(field) ? 1n : 1 });
    const changed = Array.from({ length: 256 }, (_, at) => at).filter((at) => marked[at] !== blank[at]);
    expect(changed).toEqual([offset]);
  });
});
