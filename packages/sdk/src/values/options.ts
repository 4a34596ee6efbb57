import {
  encodeBase64,
  ErrorCode,
  type OptionEntry,
  optionFromJson,
  optionRaw,
  type OptionScopeName,
  readOptionValue,
} from "@iggy/protocol";
import { ValidationError } from "../errors/index.js";
import { u64, wrongType } from "./check.js";

export type { OptionEntry } from "@iggy/protocol";

/** A resource option as a caller may write it. Text is taken in configuration form, such as `7 days` or `10 GiB`. */
export type OptionInput = string | boolean | number | bigint | Uint8Array;

/** Options by key, or entries of exact kinds for keys that are newer than this client. */
export type OptionInputs = Readonly<Record<string, OptionInput>> | readonly OptionEntry[];

/** A resource option as a reply shows it. */
export type OptionValue = string | boolean | number | bigint | Uint8Array;
export type OptionValues = Readonly<Record<string, OptionValue>>;

export function optionEntries(scope: OptionScopeName, inputs: OptionInputs | undefined): readonly OptionEntry[] {
  if (inputs === undefined) return [];
  if (isEntryList(inputs)) return inputs;
  return Object.entries(inputs).map(([key, value]) => optionEntry(scope, key, value));
}

const isEntryList = (inputs: OptionInputs): inputs is readonly OptionEntry[] => Array.isArray(inputs);

export function optionEntry(scope: OptionScopeName, key: string, value: OptionInput): OptionEntry {
  switch (typeof value) {
    case "string":
    case "boolean":
      return optionFromJson(scope, key, value);
    case "number":
    case "bigint":
      return optionFromJson(scope, key, u64(`options.${key}`, value));
    default:
      if (value instanceof Uint8Array) return optionRaw(key, value);
      throw wrongType(`options.${key}`, "text, a boolean, an integer or a Uint8Array", value);
  }
}

/** Entries with the typed fields of a call in front: a typed field wins over the same key in `options`. */
export function mergedEntries(typed: readonly OptionEntry[], others: readonly OptionEntry[]): readonly OptionEntry[] {
  const keys = new Set(typed.map(({ key }) => key));
  return [...typed, ...others.filter(({ key }) => !keys.has(key))];
}

/** Values by key. Kinds that this client does not know are left out. */
export function optionValues(entries: readonly OptionEntry[]): OptionValues {
  // Entries, not assignments: a key like `__proto__` is a key like any other.
  return Object.fromEntries(
    entries.flatMap((entry) => {
      const read = readOptionValue(entry);
      return read === undefined ? [] : [[entry.key, read.value]];
    }),
  );
}

const streamKeySize = 32;

/** The option of a stream's own key: 32 bytes, or their base64 text. The key itself stays out of errors. */
export function encryptionKeyEntry(key: Uint8Array | string): OptionEntry {
  if (typeof key !== "string" && key.length !== streamKeySize) {
    throw new ValidationError(ErrorCode.InvalidEncryptionKey, "encryptionKey takes 32 bytes or their base64 text");
  }
  return optionFromJson("stream", "encryption_key", typeof key === "string" ? key : encodeBase64(key));
}
