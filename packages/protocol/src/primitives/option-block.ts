import {
  type Codec,
  compareUtf8,
  decodeUtf8,
  prefixed,
  type Reader,
  utf8Length,
  WireError,
  type Writer,
} from "../codec/index.js";
import { HeaderKind } from "../enums/index.js";
import { ErrorCode } from "../errors/index.js";

/** One option as it travels. `kind` is a value kind code; kinds that a reader does not know are carried as they are. */
export interface OptionEntry {
  readonly key: string;
  readonly kind: number;
  readonly value: Uint8Array;
}

export const optionLimits = {
  maxEntries: 1024,
  maxBlockBytes: 100_000,
  maxKeyBytes: 255,
  maxValueBytes: 255,
  /** Bytes of an entry beside its key and value: two kinds and two lengths. */
  entryOverhead: 10,
} as const;

export const optionEntrySize = (entry: OptionEntry): number =>
  optionLimits.entryOverhead + utf8Length(entry.key) + entry.value.length;

export const optionBlockSize = (entries: readonly OptionEntry[]): number =>
  entries.reduce((sum, entry) => sum + optionEntrySize(entry), 0);

/** Whether a block may hold these entries: at most 1024, and at most 100 000 bytes in all. */
export const fitsOptionBlock = (entries: readonly OptionEntry[]): boolean =>
  entries.length <= optionLimits.maxEntries && optionBlockSize(entries) <= optionLimits.maxBlockBytes;

export const sortOptions = (entries: readonly OptionEntry[]): OptionEntry[] =>
  [...entries].sort((left, right) => compareUtf8(left.key, right.key));

/**
 * A run of entries up to the end of the input, no key twice. Written in ascending order of the key bytes, read in any.
 *
 *   key kind u8 (2 = string) · key length u32 (1..255) · key UTF-8 ·
 *   value kind u8 (not 0) · value length u32 (1..255) · value
 *
 * Writing a block over the limits fails with `OptionsBlockTooLarge` (4043); reading one is malformed (3).
 */
export const optionsToEnd: Codec<readonly OptionEntry[]> = {
  type: "options to end",
  minSize: 0,
  size: optionBlockSize,
  write: (w, entries) => {
    if (!fitsOptionBlock(entries)) {
      throw new WireError(
        "PayloadTooLarge",
        "an option block takes 1024 entries and 100000 bytes",
        undefined,
        ErrorCode.OptionsBlockTooLarge,
      );
    }
    checkKeys(entries);
    for (const entry of sortOptions(entries)) writeEntry(w, entry);
  },
  read: readBlock,
  sample: (s) => {
    const keys = new Set(Array.from({ length: s.integer(3) }, () => s.text(1, 24)));
    return sortOptions([...keys].map((key) => ({ key, kind: 1 + s.integer(254), value: s.bytes(1 + s.integer(15)) })));
  },
};

/** `[length u32][block]`, the form of replies and resolved operations. */
export const optionsPrefixed: Codec<readonly OptionEntry[]> = prefixed(optionsToEnd);

function writeEntry(w: Writer, entry: OptionEntry): void {
  const keyLength = utf8Length(entry.key);
  checkFieldLength("key", keyLength);
  checkFieldLength("value", entry.value.length);
  if (entry.kind === 0) throw new WireError("Validation", "0 is no value kind");
  w.u8(HeaderKind.string);
  w.u32(keyLength);
  w.text(entry.key);
  w.u8(entry.kind);
  w.u32(entry.value.length);
  w.take(entry.value);
}

interface Field {
  readonly kind: number;
  readonly bytes: Uint8Array;
  readonly at: number;
}

// The checks run in this order, so that every reader refuses a block with several faults alike: size, structure, number
// of entries, then the keys, then duplicates.
function readBlock(r: Reader): readonly OptionEntry[] {
  const start = r.offset;
  if (r.remaining > optionLimits.maxBlockBytes) {
    throw new WireError("Validation", `an option block of ${String(r.remaining)} bytes, at most 100000`, start);
  }
  const pairs: { readonly key: Field; readonly value: Field }[] = [];
  while (r.remaining > 0) {
    const key = readField(r);
    if (r.remaining === 0) throw new WireError("Validation", "an option key without a value", key.at);
    pairs.push({ key, value: readField(r) });
  }
  if (pairs.length > optionLimits.maxEntries) {
    throw new WireError("Validation", `an option block of ${String(pairs.length)} entries, at most 1024`, start);
  }
  const entries = pairs.map(({ key, value }) => ({ key: keyText(key), kind: value.kind, value: value.bytes }));
  checkKeys(entries, start);
  return entries;
}

function readField(r: Reader): Field {
  const at = r.offset;
  const kind = r.u8();
  if (kind === 0) throw new WireError("Validation", "0 is no option field kind", at);
  const length = r.u32();
  checkFieldLength("field", length, at);
  return { kind, bytes: r.take(length), at };
}

function keyText(key: Field): string {
  if (key.kind !== HeaderKind.string) throw new WireError("Validation", "an option key is not a string", key.at);
  const text = decodeUtf8(key.bytes);
  if (text === undefined) throw new WireError("Validation", "an option key is not valid UTF-8", key.at);
  return text;
}

function checkFieldLength(what: string, length: number, at?: number): void {
  if (length < 1 || length > 255) {
    throw new WireError("Validation", `an option ${what} takes 1 to 255 bytes, got ${String(length)}`, at);
  }
}

function checkKeys(entries: readonly OptionEntry[], at?: number): void {
  if (new Set(entries.map((entry) => entry.key)).size !== entries.length) {
    throw new WireError("Validation", "an option key occurs twice", at);
  }
}
