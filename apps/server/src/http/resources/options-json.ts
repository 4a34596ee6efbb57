import {
  HeaderKind,
  type HeaderKindName,
  nameOf,
  type OptionEntry,
  optionFromJson,
  type OptionScopeName,
  optionText,
} from "@iggy/protocol";
import {
  flag,
  type JsonValue,
  list,
  mapped,
  object,
  objectMembers,
  oneOf,
  optional,
  type OptionMap,
  optionMapShape,
  readOptionJson,
  type Shape,
  ShapeError,
  type ShapeValue,
  text,
} from "../json/index.js";
import { mapOf } from "./map-of.js";

const RESET = "reset";

export const kindShape = oneOf(
  ...(Object.keys(HeaderKind).filter((name) => Object.hasOwn(HeaderKind, name)) as HeaderKindName[]),
);

/** Options of a resource as answers show them, by name. */
export const optionsShape = mapOf(
  object({ value: text(), kind: kindShape, explicit: flag }),
  "Options by name. `explicit` tells those that were set from defaults.",
);
export type OptionsJson = ShapeValue<typeof optionsShape>;

/** What was set and what the server derived, sorted by name. Kinds that this version does not read are left out. */
export function optionsJson(explicit: readonly OptionEntry[], derived: readonly OptionEntry[]): OptionsJson {
  const named = [
    ...explicit.map((entry) => ({ entry, isExplicit: true })),
    ...derived.map((entry) => ({ entry, isExplicit: false })),
  ];
  return Object.fromEntries(
    named
      .sort((left, right) => (left.entry.key < right.entry.key ? -1 : 1))
      .flatMap(({ entry, isExplicit }) => {
        const value = optionText(entry);
        const kind = nameOf(HeaderKind, entry.kind);
        return value === undefined || kind === undefined ? [] : [[entry.key, { value, kind, explicit: isExplicit }]];
      }),
  );
}

/** Options of a create body. */
export const createOptions = (scope: OptionScopeName): Shape<readonly OptionEntry[]> =>
  mapped(optional(optionMapShape, []), (options: OptionMap) =>
    options.map(([name, value]) => optionFromJson(scope, name, value)),
  );

/** Options that an update sets, and those that go back to their default. */
export interface Patch {
  readonly options: readonly OptionEntry[];
  readonly reset: readonly string[];
}

const resetShape = list(text());

/** An update: each member sets the option of its name, null changes nothing, `reset` lists options. */
export const patchShape = (scope: OptionScopeName): Shape<Patch> => ({
  schema: {
    type: "object",
    description: "Each member sets the option of its name; null changes nothing.",
    properties: {
      [RESET]: { ...resetShape.schema, uniqueItems: true, description: "Options that get their default." },
    },
    additionalProperties: {
      anyOf: [{ type: "boolean" }, { type: "integer", minimum: 0 }, { type: "string" }, { type: "null" }],
    },
  },
  read: (json) => {
    const { [RESET]: names, ...members } = objectMembers(json);
    const options = Object.entries(members).flatMap(([name, value]) => {
      const set = value === null ? undefined : readOptionJson(name, value);
      return set === undefined ? [] : [optionFromJson(scope, name, set)];
    });
    return { options, reset: readReset(names) };
  },
});

function readReset(json: JsonValue | undefined): readonly string[] {
  if (json === undefined || json === null) return [];
  const names = resetShape.read(json);
  if (new Set(names).size !== names.length) throw new ShapeError("names an option twice", undefined, RESET);
  return names;
}
