import { describe, expect, it } from "vitest";
import {
  admitCreate,
  admitUpdate,
  canonicalOption,
  checkSegmentSize,
  derivedOptions,
  encode,
  HeaderKind,
  type HeaderKindName,
  IggyError,
  isResettable,
  isUpdatable,
  optionCatalogue,
  optionDescriptors,
  type OptionEntry,
  optionFlags,
  OptionFlag,
  optionLimits,
  OptionScope,
  type OptionScopeName,
  type OptionSpec,
  optionsToEnd,
  optionSpec,
  optionString,
  optionText,
  optionValueLimits,
} from "../../src/index.js";
import { fromHex, loadVectors, toHex } from "../golden.js";

interface WireValue {
  readonly kind: HeaderKindName;
  readonly kind_code: number;
  readonly text: string | null;
  readonly hex: string;
}

interface GoldenError {
  readonly code: number;
}

interface CatalogueRow {
  readonly key: string;
  readonly scopes: OptionScopeName[];
  readonly kind: string;
  readonly kind_code: number;
  readonly storage: string;
  readonly mutability: string;
  readonly visibility: string;
  readonly critical: boolean;
  readonly flags: number;
  readonly updatable: boolean;
  readonly resettable: boolean;
  readonly described: boolean;
  readonly default: WireValue | null;
}

interface AdmissionCase {
  readonly name: string;
  readonly scope: OptionScopeName;
  readonly operation: "Create" | "Update";
  readonly options: { key: string; kind_code: number; value_hex: string }[];
  readonly reset: string[];
  readonly create_columns: { name: string | null; username: string | null };
  readonly admitted: {
    explicit_hex: string;
    reset: string[];
    columns: { name: string | null; username: string | null; status: string | null };
  } | null;
  readonly error: GoldenError | null;
}

interface Vectors {
  readonly flag_bits: Record<string, number>;
  readonly limits: Record<string, number | string>;
  readonly catalog: CatalogueRow[];
  readonly scopes: {
    scope: OptionScopeName;
    code: number;
    derived_defaults_hex: string;
    described: { key: string; kind: number; flags: number; default_value_hex: string }[];
  }[];
  readonly canonical_values: {
    key: string;
    input: WireValue;
    stored: WireValue | string | null;
    error: GoldenError | null;
  }[];
  readonly admission: AdmissionCase[];
  readonly segment_size_checks: { segment_size: string; ceiling: string; error: GoldenError | null }[];
}

const golden = loadVectors<Vectors>("options");

/** The one option that differs on purpose: here its value can change after creation. */
const intended = "compression_algorithm";

const pascal = (name: string): string =>
  name.replace(/(^|_)([a-z])/g, (_, _start, letter: string) => letter.toUpperCase());
const sorted = (values: readonly string[]): string[] => [...values].sort();

function row(spec: OptionSpec): unknown {
  return {
    key: spec.key,
    scopes: sorted(spec.scopes),
    kind: spec.kind,
    kind_code: HeaderKind[spec.kind],
    storage: pascal(spec.storage),
    mutability: pascal(spec.mutability),
    visibility: pascal(spec.visibility),
    critical: spec.critical,
    flags: optionFlags(spec),
    updatable: isUpdatable(spec),
    resettable: isResettable(spec),
    described: spec.visibility !== "internal",
    default:
      spec.default === null
        ? null
        : {
            kind: spec.kind,
            kind_code: spec.default.kind,
            text: optionText(spec.default),
            hex: toHex(spec.default.value),
          },
  };
}

/** The place in the table is the order here, and ranges are rules that the cases below exercise. */
const withoutRange = (official: CatalogueRow): unknown =>
  Object.fromEntries(Object.entries(official).filter(([key]) => key !== "index" && key !== "range"));

describe("option catalogue", () => {
  it.each(optionCatalogue.map((spec, index) => ({ spec, index })))("$spec.key", ({ spec, index }) => {
    const official = golden.catalog[index];
    if (official === undefined) throw new Error("the catalogue has more rows than the official one");
    const ours =
      spec.key === intended
        ? { ...official, mutability: "Updatable", flags: 3, updatable: true, resettable: true }
        : official;
    expect(row(spec)).toEqual(withoutRange(ours));
  });

  it("has as many rows as the official one", () => {
    expect(optionCatalogue).toHaveLength(golden.catalog.length);
  });

  it("differs from the official catalogue in one key: compression can change after creation", () => {
    const spec = optionSpec("topic", intended);
    expect(spec === undefined ? undefined : [isUpdatable(spec), isResettable(spec), optionFlags(spec)]).toEqual([
      true,
      true,
      3,
    ]);
    expect(golden.catalog.find(({ key }) => key === intended)?.flags).toBe(0);
    const gzip = optionString(intended, "gzip");
    expect(admitUpdate("topic", [], [gzip], []).explicit).toEqual([gzip]);
    expect(admitUpdate("topic", [], [], [intended]).derived).toEqual([optionString(intended, "none")]);
  });

  it("has the flag bits and limits", () => {
    expect({
      updatable: OptionFlag.updatable,
      resettable: OptionFlag.resettable,
      secret: OptionFlag.secret,
      read_only: OptionFlag.readOnly,
      critical: OptionFlag.critical,
    }).toEqual(golden.flag_bits);
    expect({
      max_entries: optionLimits.maxEntries,
      max_block_bytes: optionLimits.maxBlockBytes,
      max_reset_keys: optionValueLimits.maxResetKeys,
      default_partitions_count: optionValueLimits.defaultPartitionsCount,
      min_topic_segment_size: String(optionValueLimits.minSegmentSize),
      max_topic_segment_size: String(optionValueLimits.maxSegmentSize),
      max_preallocated_topic_bytes: String(optionValueLimits.maxPreallocatedBytes),
      max_replication_factor: optionValueLimits.maxReplicationFactor,
      max_messages_required_to_save: optionValueLimits.maxMessagesRequiredToSave,
      max_size_of_messages_required_to_save: String(optionValueLimits.maxSizeOfMessagesRequiredToSave),
    }).toEqual(golden.limits);
  });

  it.each(golden.scopes)("describes the $scope scope", ({ scope, code, described, derived_defaults_hex }) => {
    expect(OptionScope[scope]).toBe(code);
    expect(
      optionDescriptors(scope).map(({ key, kind, flags, defaultValue }) => ({
        key,
        kind,
        flags: key === intended ? 0 : flags,
        default_value_hex: toHex(defaultValue),
      })),
    ).toEqual(described);
    expect(toHex(encode(optionsToEnd, derivedOptions(scope, [])))).toBe(derived_defaults_hex);
  });

  it("describes the replication factor that the answering node resolved", () => {
    const descriptors = optionDescriptors("topic", { replicationFactor: 3 });
    expect(toHex(descriptors.find(({ key }) => key === "replication_factor")?.defaultValue ?? new Uint8Array(0))).toBe(
      "03000000",
    );
    expect(descriptors.every(({ description }) => description.length > 20)).toBe(true);
  });
});

function outcome<T>(act: () => T): T | number {
  try {
    return act();
  } catch (error) {
    if (error instanceof IggyError) return error.code;
    throw error;
  }
}

describe("canonical values", () => {
  it.each(golden.canonical_values)(
    "$key takes $input.kind $input.text: $input.hex",
    ({ key, input, stored, error }) => {
      const scope = key === "encryption_key" ? "stream" : "topic";
      const spec = optionSpec(scope, key);
      if (spec === undefined) throw new Error(`no option ${key}`);
      const entry: OptionEntry = { key, kind: input.kind_code, value: fromHex(input.hex) };
      const expected =
        error !== null
          ? error.code
          : stored === null || typeof stored === "string"
            ? null
            : { key, kind: stored.kind_code, value: fromHex(stored.hex) };
      expect(outcome(() => canonicalOption(spec, scope, entry))).toEqual(expected);
    },
  );
});

describe("admission", () => {
  const entriesOf = ({ options }: AdmissionCase): OptionEntry[] =>
    options.map(({ key, kind_code, value_hex }) => ({ key, kind: kind_code, value: fromHex(value_hex) }));

  const given = (columns: Readonly<Record<string, string | null>>): Record<string, string> =>
    Object.fromEntries(Object.entries(columns).filter((entry): entry is [string, string] => entry[1] !== null));

  // A create has no reset list here, so the refusal of one is the type checker's.
  const creates = golden.admission.filter(({ operation, reset }) => operation === "Create" && reset.length === 0);
  const updates = golden.admission.filter(({ operation }) => operation === "Update");

  it("covers every case but the reset in a create", () => {
    expect(golden.admission.length - creates.length - updates.length).toBe(1);
  });

  it.each(creates)("$name", (entry) => {
    const admitted = outcome(() => admitCreate(entry.scope, entriesOf(entry), given(entry.create_columns)));
    if (typeof admitted === "number") {
      expect(admitted).toBe(entry.error?.code);
      return;
    }
    expect(entry.error).toBeNull();
    expect(toHex(encode(optionsToEnd, admitted.explicit))).toBe(entry.admitted?.explicit_hex);
    const keys = [...admitted.explicit, ...admitted.derived].map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it.each(updates)("$name", (entry) => {
    const admitted = outcome(() => admitUpdate(entry.scope, [], entriesOf(entry), entry.reset));
    if (typeof admitted === "number") {
      expect(admitted).toBe(entry.error?.code);
      return;
    }
    expect(entry.error).toBeNull();
    expect(toHex(encode(optionsToEnd, admitted.explicit))).toBe(entry.admitted?.explicit_hex);
    expect(sorted(admitted.derived.map(({ key }) => key))).toEqual(sorted(entry.admitted?.reset ?? []));
    expect(admitted.columns).toEqual(given(entry.admitted?.columns ?? {}));
  });
});

describe("segment sizes", () => {
  it.each(golden.segment_size_checks)("$segment_size bytes under $ceiling", ({ segment_size, ceiling, error }) => {
    const code = outcome(() => {
      checkSegmentSize(BigInt(segment_size), BigInt(ceiling));
      return null;
    });
    expect(code).toBe(error?.code ?? null);
  });
});
