import { describe, expect, it } from "vitest";
import {
  ackLevel,
  clientVersionInfo,
  type Codec,
  consumer,
  consumerGroupOwner,
  decode,
  decodeExact,
  describeOptions,
  encode,
  exactly,
  HeaderKind,
  type HeaderKindName,
  identifier,
  isAdmittedVersion,
  mapped,
  memberLists,
  name,
  nameOf,
  optionBool,
  type OptionEntry,
  optionsPrefixed,
  optionsToEnd,
  optionString,
  optionU32,
  optionU64,
  packVersion,
  partitionAssignmentRecord,
  partitionContext,
  partitioning,
  partitionStatuses,
  permissions,
  pollingStrategy,
  readOptionValue,
  resetKeys,
  sessionIdentity,
  struct,
  u32,
  unpackVersion,
  updateResource,
  WireError,
} from "../../src/index.js";
import {
  bytesOf,
  expectGolden,
  expectRefused,
  fieldsOf,
  hexOf,
  type Json,
  type JsonObject,
  plain,
  textOf,
  vectors,
} from "../golden-layouts.js";

const golden = vectors("primitives");

const layouts: Readonly<Record<string, Codec<unknown>>> = {
  Identifier: identifier,
  Name: struct("name", { value: name }),
  Permissions: permissions,
  Consumer: consumer,
  Partitioning: partitioning,
  PollingStrategy: pollingStrategy,
  AckLevel: ackLevel,
  Options: optionsToEnd,
  ProtocolVersion: mapped(
    u32,
    (packed) => ({ ...unpackVersion(packed), packed }),
    ({ packed }) => packed,
  ),
  ClientVersionInfo: clientVersionInfo,
  PartitionContext: partitionContext,
  ConsumerGroupOwner: consumerGroupOwner,
  SessionIdentity: sessionIdentity,
  CreatedPartitionAssignment: partitionAssignmentRecord,
  PartitionMembers: struct("members", { members: memberLists(2) }),
  PartitionStatusEntries: partitionStatuses,
  ResetKeys: resetKeys,
  DescribeOptionsRequest: describeOptions.request,
  UpdateResourceRequest: updateResource.request,
};

/** User headers are laid out with the messages that carry them, and checked there. */
const elsewhere = "UserHeaders";

function layoutOf(entry: JsonObject): Codec<unknown> {
  const layout = layouts[textOf(entry, "type")];
  if (layout === undefined) throw new Error(`no layout ${textOf(entry, "type")}`);
  return layout;
}

describe("golden primitives", () => {
  for (const entry of golden["cases"] ?? []) {
    if (entry["type"] === elsewhere) continue;
    it(`${textOf(entry, "type")} ${textOf(entry, "name")}`, () => {
      expectGolden(layoutOf(entry), textOf(entry, "hex"), fieldsOf(entry["fields"] ?? null));
    });
  }

  for (const entry of golden["negative"] ?? []) {
    if (entry["type"] === elsewhere || entry["hex"] === undefined) continue;
    it(`refuses ${textOf(entry, "type")} ${textOf(entry, "name")}`, () => {
      const { kind } = entry["error"] as { kind: string };
      expectRefused(() => decode(layoutOf(entry), bytesOf(textOf(entry, "hex"))), kind);
    });
  }

  for (const entry of golden["accepted_quirks"] ?? []) {
    it(`${textOf(entry, "type")}: ${textOf(entry, "note")}`, () => {
      const layout = layoutOf(entry);
      const value = decode(layout, bytesOf(textOf(entry, "hex")));
      expect(layout.size(value)).toBe(entry["consumed"]);
      expect(hexOf(encode(layout, value))).toBe(textOf(entry, "reencoded_hex"));
    });
  }
});

describe("protocol versions", () => {
  for (const entry of golden["cases"] ?? []) {
    if (entry["type"] !== "ProtocolVersion") continue;
    it(textOf(entry, "name"), () => {
      const { major, minor, patch, packed, accepted_by_server } = entry["fields"] as Record<string, number>;
      expect(packVersion({ major: Number(major), minor: Number(minor), patch: Number(patch) })).toBe(packed);
      expect(isAdmittedVersion(Number(packed))).toBe(accepted_by_server);
    });
  }

  it("refuses parts that ten bits do not hold", () => {
    expect(() => packVersion({ major: 0, minor: 1024, patch: 0 })).toThrow(RangeError);
  });
});

/** The typed value in the form of the vectors. */
const typed = (entry: OptionEntry): Json => plain(readOptionValue(entry)?.value);

describe("option blocks", () => {
  it("reads every kind of value", () => {
    for (const entry of golden["cases"] ?? []) {
      if (entry["type"] !== "Options") continue;
      const entries = decode(optionsToEnd, bytesOf(textOf(entry, "hex")));
      for (const [index, wire] of (entry["fields"] as JsonObject[]).entries()) {
        const option = entries[index] as OptionEntry;
        expect(readOptionValue(option)?.kind).toBe(wire["kind"]);
        // Floats are texts in the vectors, and raw values have no text.
        const expected =
          wire["kind"] === "raw"
            ? wire["value_hex"]
            : option.kind === HeaderKind.float32 || option.kind === HeaderKind.float64
              ? Number(wire["value"])
              : wire["value"];
        expect(typed(option)).toEqual(expected);
      }
    }
  });

  it("skips the value of a kind that it does not know and refuses a wrong size of one that it knows", () => {
    expect(readOptionValue({ key: "k", kind: 99, value: Uint8Array.of(1) })).toBeUndefined();
    for (const [kind, size] of [
      ["bool", 2],
      ["uint32", 8],
      ["int128", 8],
    ] as [HeaderKindName, number][]) {
      const entry = { key: "k", kind: HeaderKind[kind], value: new Uint8Array(size) };
      expect(() => readOptionValue(entry)).toThrow(expect.objectContaining({ code: 4019 }));
    }
    expect(() => readOptionValue({ key: "k", kind: HeaderKind.bool, value: Uint8Array.of(2) })).toThrow();
    expect(() => readOptionValue({ key: "k", kind: HeaderKind.string, value: Uint8Array.of(0xff) })).toThrow();
  });

  it("makes entries of the kinds that clients send", () => {
    const entries = [optionBool("b", true), optionString("a", "é"), optionU32("d", 7), optionU64("c", 2n ** 63n)];
    expect(entries.map((entry) => readOptionValue(entry))).toEqual([
      { kind: "bool", value: true },
      { kind: "string", value: "é" },
      { kind: "uint32", value: 7 },
      { kind: "uint64", value: 2n ** 63n },
    ]);
    expect(decode(optionsToEnd, encode(optionsToEnd, entries)).map(({ key }) => key)).toEqual(["a", "b", "c", "d"]);
  });

  it("writes keys in the order of their bytes, not of their UTF-16 units", () => {
    // U+1F600 is a surrogate pair, below U+FF5E as units and above it as bytes.
    const keys = ["\u{1f600}", "\uff5e", "z"];
    const bytes = encode(
      optionsToEnd,
      keys.map((key) => optionBool(key, true)),
    );
    expect(decode(optionsToEnd, bytes).map(({ key }) => key)).toEqual(["z", "\uff5e", "\u{1f600}"]);
  });

  it("keeps the order that it reads", () => {
    const hex = ["b", "a"].map((key) => hexOf(encode(optionsToEnd, [optionBool(key, false)]))).join("");
    expect(decode(optionsToEnd, bytesOf(hex)).map(({ key }) => key)).toEqual(["b", "a"]);
  });

  it.each([
    ["more_than_1024_entries", 1025, 1],
    ["block_over_100000_bytes", 400, 250],
  ])("refuses a block of %s on both sides", (_, count, valueSize) => {
    const entries = Array.from({ length: count }, (_unused, index) => ({
      key: `k${String(index).padStart(4, "0")}`,
      kind: valueSize === 1 ? HeaderKind.bool : HeaderKind.string,
      value: new Uint8Array(valueSize).fill(valueSize === 1 ? 1 : 0x76),
    }));
    expect(() => encode(optionsToEnd, entries)).toThrow(expect.objectContaining({ code: 4043 }));
    const wire = new Uint8Array(entries.flatMap((entry) => Array.from(encode(optionsToEnd, [entry]))));
    expect(wire.length > 100_000 || count > 1024).toBe(true);
    expectRefused(() => decode(optionsToEnd, wire), "Validation");
  });

  it("reads an empty block as four zero bytes where it has a length", () => {
    expect(hexOf(encode(optionsPrefixed, []))).toBe("00000000");
    expect(decodeExact(optionsPrefixed, new Uint8Array(4))).toEqual([]);
  });
});

describe("permissions", () => {
  it("writes ids in ascending order", () => {
    const rich = (golden["cases"] ?? []).filter(({ type }) => type === "Permissions");
    for (const entry of rich) {
      const value = decode(permissions, bytesOf(textOf(entry, "hex")));
      const shuffled = {
        ...value,
        streams: value.streams.map((stream) => ({ ...stream, topics: [...stream.topics].reverse() })).reverse(),
      };
      expect(hexOf(encode(permissions, shuffled))).toBe(textOf(entry, "hex"));
    }
  });
});

describe("runs of records", () => {
  it("refuses a run that its record size does not divide", () => {
    expect(() => decode(partitionStatuses, new Uint8Array(61))).toThrow(WireError);
    expect(() => decode(exactly(sessionIdentity), new Uint8Array(33))).toThrow(WireError);
  });

  it("names codes of its tables only", () => {
    expect(nameOf(HeaderKind, 15)).toBe("float64");
    expect(nameOf(HeaderKind, 16)).toBeUndefined();
  });
});
