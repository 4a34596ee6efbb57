import {
  ErrorCode,
  encodeBase64,
  HeaderKind,
  type HeaderKindName,
  type JsonObject,
  type JsonValue,
  type OptionEntry,
  optionFromText,
  readOptionValue,
} from "@iggy/protocol";
import { ValidationError } from "../../errors/index.js";
import type { Members } from "../members.js";

interface StoredOptions {
  readonly options: readonly OptionEntry[];
  readonly derivedOptions: readonly OptionEntry[];
}

/** Options of an answer, those that were set apart from what the server filled in. Unknown kinds are left out. */
export function storedOptions(resource: Members): StoredOptions {
  const options: OptionEntry[] = [];
  const derivedOptions: OptionEntry[] = [];
  if (resource.isAbsent("options")) return { options, derivedOptions };
  const members = resource.object("options");
  for (const name of members.names) {
    const option = members.object(name);
    const kind = option.text("kind");
    if (!isKind(kind)) continue;
    const entry = optionFromText(name, kind, option.text("value"));
    (option.flag("explicit") ? options : derivedOptions).push(entry);
  }
  return { options, derivedOptions };
}

const isKind = (name: string): name is HeaderKindName => Object.hasOwn(HeaderKind, name);

/** Options of a create or update body. */
export function optionsJson(entries: readonly OptionEntry[]): JsonObject {
  return Object.fromEntries(entries.map((entry): [string, JsonValue] => [entry.key, optionJson(entry)]));
}

function optionJson(entry: OptionEntry): JsonValue {
  const value = readOptionValue(entry)?.value;
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (value instanceof Uint8Array) return encodeBase64(value);
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  if (typeof value === "bigint" && value >= 0n) {
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : String(value);
  }
  throw new ValidationError(
    ErrorCode.InvalidOptionValue,
    `over HTTP the option ${entry.key} takes a boolean, a non-negative integer, a text or bytes`,
  );
}
