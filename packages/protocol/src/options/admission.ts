import { decodeUtf8 } from "../codec/index.js";
import type { OptionScopeName } from "../enums/index.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import { fitsOptionBlock, type OptionEntry, sortOptions } from "../primitives/option-block.js";
import { optionString } from "../primitives/option-value.js";
import {
  canonicalOption,
  isResettable,
  isServerOnly,
  isUpdatable,
  optionCatalogue,
  optionSpec,
  type OptionSpec,
} from "./catalogue.js";
import { nodeDefault, type NodeDefaults } from "./descriptors.js";
import { invalidValue, OptionError } from "./option-error.js";

/** Columns that a create command carries in fields of its own, checked together with its options. */
export interface CreateColumns {
  readonly name?: string;
  readonly username?: string;
}

/** Columns that a patch sets. */
export interface UpdatedColumns {
  readonly name?: string;
  readonly username?: string;
  readonly status?: string;
}

/** The option map of a new resource by provenance, in ascending key order. */
export interface AdmittedCreate {
  readonly explicit: readonly OptionEntry[];
  readonly derived: readonly OptionEntry[];
}

/** What a patch changes: entries that become explicit, entries that go back to their default, and columns. */
export interface AdmittedUpdate extends AdmittedCreate {
  readonly columns: UpdatedColumns;
}

interface SetOption {
  readonly spec: OptionSpec;
  readonly entry: OptionEntry;
}

/**
 * Admits the options of a create. `node` is what the admitting node resolves itself; without its replication factor the
 * derived entries hold none.
 *
 * Refusals, in this order and the first one that applies: `UnsupportedOptionKey` (4041), `ReadOnlyOption` (4105),
 * `InvalidOptionValue` (4042) for a column in the block, the columns' own errors, then values in block order (4042, 70,
 * 2018), `OptionsBlockTooLarge` (4043).
 */
export function admitCreate(
  scope: OptionScopeName,
  entries: readonly OptionEntry[],
  columns: CreateColumns = {},
  node: NodeDefaults = {},
): AdmittedCreate {
  refuseRepeated(keysOf(entries));
  const options = entries.map((entry) => ({ spec: known(scope, entry.key), entry }));
  refuseServerOnly(options.map(({ spec }) => spec));
  const column = options.find(({ spec }) => spec.storage === "column");
  if (column !== undefined) throw invalidValue(column.spec.key, "is a field of the command, not an option");
  checkColumns(scope, columns);
  const explicit = sortOptions(canonicalEntries(scope, options));
  const derived = derivedOptions(scope, explicit, node);
  refuseTooLarge([...explicit, ...derived]);
  return { explicit, derived };
}

/**
 * Admits a patch of a resource that stores the entries `stored`, both provenances together.
 *
 * Refusals, in this order and the first one that applies: `InvalidCommand` (3) for a key twice, set and reset, or
 * nothing at all; `UnsupportedOptionKey` (4041), `ReadOnlyOption` (4105) and `OptionNotUpdatable` (4103), each for set
 * keys before reset keys; `OptionNotResettable` (4104); values in block order (4042 and the columns' own errors);
 * `InvalidCommand` (3) when nothing is left to change; `OptionsBlockTooLarge` (4043).
 */
export function admitUpdate(
  scope: OptionScopeName,
  stored: readonly OptionEntry[],
  set: readonly OptionEntry[],
  reset: readonly string[],
): AdmittedUpdate {
  checkPatch(set, reset);
  const options = set.map((entry) => ({ spec: known(scope, entry.key), entry }));
  const resets = reset.map((key) => known(scope, key));
  const all = [...options.map(({ spec }) => spec), ...resets];
  refuseServerOnly(all);
  refuse(
    ErrorCode.OptionNotUpdatable,
    all.find((spec) => !isUpdatable(spec)),
  );
  refuse(
    ErrorCode.OptionNotResettable,
    resets.find((spec) => !isResettable(spec)),
  );
  const canonical = canonicalEntries(scope, options);
  const isColumn = ({ key }: OptionEntry): boolean => optionSpec(scope, key)?.storage === "column";
  const explicit = sortOptions(canonical.filter((entry) => !isColumn(entry)));
  const derived = sortOptions(resets.flatMap((spec) => (spec.default === null ? [] : [spec.default])));
  if (canonical.length + derived.length === 0)
    throw new IggyError(ErrorCode.InvalidCommand, "the patch changes nothing");
  const touched = new Set([...keysOf(explicit), ...reset]);
  refuseTooLarge([...stored.filter(({ key }) => !touched.has(key)), ...derived, ...explicit]);
  return { explicit, derived, columns: columnsOf(canonical.filter(isColumn)) };
}

/**
 * The structural rules of a patch, which hold for keys of any catalogue: a client that sends keys newer than its own
 * checks these alone.
 */
export function checkPatch(set: readonly OptionEntry[], reset: readonly string[]): void {
  refuseRepeated(keysOf(set));
  refuseRepeated(reset);
  const both = keysOf(set).find((key) => reset.includes(key));
  if (both !== undefined) throw new OptionError(ErrorCode.InvalidCommand, both, "is both set and reset");
  if (set.length + reset.length === 0) throw new IggyError(ErrorCode.InvalidCommand, "the patch changes nothing");
}

/** Entries that a server fills: every default of the scope that is not set, and what the node resolves itself. */
export function derivedOptions(
  scope: OptionScopeName,
  explicit: readonly OptionEntry[],
  node: NodeDefaults = {},
): OptionEntry[] {
  const set = new Set(keysOf(explicit));
  return sortOptions(
    optionCatalogue
      .filter((spec) => spec.scopes.includes(scope) && spec.storage === "map" && !set.has(spec.key))
      .flatMap((spec) => nodeDefault(spec.key, node) ?? spec.default ?? []),
  );
}

const keysOf = (entries: readonly OptionEntry[]): string[] => entries.map(({ key }) => key);

function refuse(code: number, spec: OptionSpec | undefined): void {
  if (spec !== undefined) throw new OptionError(code, spec.key);
}

function refuseRepeated(keys: readonly string[]): void {
  const repeated = keys.find((key, at) => keys.indexOf(key) !== at);
  if (repeated !== undefined) throw new OptionError(ErrorCode.InvalidCommand, repeated, "is named twice");
}

const refuseServerOnly = (specs: readonly OptionSpec[]): void =>
  refuse(ErrorCode.ReadOnlyOption, specs.find(isServerOnly));

function refuseTooLarge(entries: readonly OptionEntry[]): void {
  if (!fitsOptionBlock(entries)) throw new IggyError(ErrorCode.OptionsBlockTooLarge);
}

function known(scope: OptionScopeName, key: string): OptionSpec {
  const spec = optionSpec(scope, key);
  if (spec === undefined) {
    throw new OptionError(ErrorCode.UnsupportedOptionKey, key, `${scope} resources have no such option`);
  }
  return spec;
}

/** The values in block order; those that set nothing are dropped. */
function canonicalEntries(scope: OptionScopeName, options: readonly SetOption[]): OptionEntry[] {
  return options.flatMap(({ spec, entry }) => canonicalOption(spec, scope, entry) ?? []);
}

function checkColumns(scope: OptionScopeName, columns: CreateColumns): void {
  for (const [key, value] of Object.entries(columns)) {
    if (typeof value === "string") canonicalOption(known(scope, key), scope, optionString(key, value));
  }
}

function columnsOf(entries: readonly OptionEntry[]): UpdatedColumns {
  return Object.fromEntries(entries.map(({ key, value }) => [key, decodeUtf8(value)]));
}
