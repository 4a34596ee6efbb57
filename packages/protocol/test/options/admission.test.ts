import { describe, expect, it } from "vitest";
import {
  admitCreate,
  admitUpdate,
  checkPreallocation,
  checkReplicationFactor,
  checkTopicSize,
  HeaderKind,
  type HeaderKindName,
  IggyError,
  type JsonOptionValue,
  optionBool,
  type OptionEntry,
  OptionError,
  optionFromJson,
  optionFromText,
  optionRaw,
  type OptionScopeName,
  optionString,
  optionText,
  optionU32,
  optionU64,
  readOptionValue,
} from "../../src/index.js";

const codeOf = (act: () => unknown): number | null => {
  try {
    act();
    return null;
  } catch (error) {
    if (error instanceof IggyError) return error.code;
    throw error;
  }
};

describe("which refusal wins", () => {
  const expiry = optionU64("message_expiry", 5n);
  const bad = optionString("message_expiry", "soon");
  const cases: [string, OptionScopeName, OptionEntry[], string[], number][] = [
    [
      "a key both set and reset, before an unknown one",
      "topic",
      [expiry, optionString("x", "1")],
      ["message_expiry"],
      3,
    ],
    [
      "an unknown key that is reset, before a read-only one that is set",
      "stream",
      [optionString("encryption_key_source", "x")],
      ["x"],
      4041,
    ],
    [
      "a read-only key, before one that can not change",
      "topic",
      [optionString("durability", "x"), optionString("critical_keys", "x")],
      [],
      4105,
    ],
    ["a create-only key that is reset, before a bad value", "topic", [bad], ["durability"], 4103],
    ["a column that is reset, before a bad value", "user", [optionString("username", "a")], ["status"], 4104],
    ["the first bad value in block order", "topic", [optionString("name", ""), bad], [], 2014],
    ["the first bad value in the other order", "topic", [bad, optionString("name", "")], [], 4042],
    ["a patch that only leaves defaults as they are", "topic", [optionU64("message_expiry", 0n)], [], 3],
  ];

  it.each(cases)("%s", (_, scope, set, reset, code) => {
    expect(codeOf(() => admitUpdate(scope, [], set, reset))).toBe(code);
  });

  it("a column in a create block before the columns of the command, and those before values", () => {
    const long = "x".repeat(256);
    expect(codeOf(() => admitCreate("topic", [optionString("name", "a")], { name: long }))).toBe(4042);
    expect(codeOf(() => admitCreate("topic", [bad], { name: long }))).toBe(2014);
    expect(codeOf(() => admitCreate("stream", [optionRaw("encryption_key", new Uint8Array(3))], { name: long }))).toBe(
      1013,
    );
  });

  it("a block that would grow too large, last", () => {
    const stored = Array.from({ length: 1023 }, (_, index) => optionBool(`later_${String(index)}`, true));
    expect(codeOf(() => admitUpdate("topic", stored, [expiry], []))).toBeNull();
    const full = [...stored, optionBool("later", true)];
    expect(codeOf(() => admitUpdate("topic", full, [expiry], []))).toBe(4043);
    // A value that sets nothing leaves the stored one, and a stored key makes room for its new value.
    expect(codeOf(() => admitUpdate("topic", [...stored, expiry], [optionU64("message_expiry", 6n)], []))).toBeNull();
  });
});

describe("what a patch changes", () => {
  it("sets keys, puts reset ones back to their default, and takes columns apart", () => {
    const admitted = admitUpdate(
      "topic",
      [],
      [optionString("name", "events-v2"), optionString("message_expiry", "7 days")],
      ["max_topic_size"],
    );
    expect(admitted).toEqual({
      explicit: [optionU64("message_expiry", 604_800_000_000n)],
      derived: [optionU64("max_topic_size", 2n ** 64n - 1n)],
      columns: { name: "events-v2" },
    });
  });

  it("fills the defaults of a create beside what the node resolves", () => {
    const { explicit, derived } = admitCreate(
      "topic",
      [optionString("segment_size", "128 MiB")],
      {},
      { replicationFactor: 3 },
    );
    expect(explicit).toEqual([optionU64("segment_size", 134_217_728n)]);
    expect(derived.map(({ key }) => key)).toEqual([
      "compression_algorithm",
      "consumer_offset_durability",
      "durability",
      "max_topic_size",
      "message_expiry",
      "messages_required_to_save",
      "partition_resize_policy",
      "preallocate_segments",
      "replication_factor",
      "size_of_messages_required_to_save",
    ]);
    expect(derived.find(({ key }) => key === "replication_factor")).toEqual(optionU32("replication_factor", 3));
  });
});

describe("texts of refusals", () => {
  it("name the key, cut to 64 characters, and never a value", () => {
    const key = "🔑".repeat(70);
    try {
      admitCreate("topic", [optionString(key, "v")]);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(OptionError);
      expect((error as OptionError).key).toBe("🔑".repeat(64));
    }
    const secret = "c2VjcmV0";
    try {
      admitCreate("stream", [optionString("encryption_key", secret)]);
      expect.unreachable();
    } catch (error) {
      expect((error as OptionError).code).toBe(70);
      expect((error as OptionError).message).not.toContain(secret);
    }
  });
});

describe("values beside each other", () => {
  it("a finite cap takes at least one segment", () => {
    expect(codeOf(() => checkTopicSize(1_048_575n, 1_048_576n))).toBe(1019);
    expect(codeOf(() => checkTopicSize(1_048_576n, 1_048_576n))).toBeNull();
    expect(codeOf(() => checkTopicSize(2n ** 64n - 1n, 1_073_741_824n))).toBeNull();
  });

  it("a create reserves up to 64 GiB", () => {
    expect(codeOf(() => checkPreallocation(1_073_741_824n, 64))).toBeNull();
    expect(codeOf(() => checkPreallocation(1_073_741_824n, 65))).toBe(4042);
  });

  it("a partition takes no more copies than there are nodes", () => {
    expect(codeOf(() => checkReplicationFactor(1, 1))).toBeNull();
    expect(codeOf(() => checkReplicationFactor(2, 1))).toBe(2018);
    expect(codeOf(() => checkReplicationFactor(33, 40))).toBe(2018);
  });
});

describe("values of JSON bodies", () => {
  const patch = (scope: OptionScopeName, body: Record<string, JsonOptionValue>, reset: string[] = []): number | null =>
    codeOf(() =>
      admitUpdate(
        scope,
        [],
        Object.entries(body).map(([key, value]) => optionFromJson(scope, key, value)),
        reset,
      ),
    );

  it.each<[string, OptionScopeName, Record<string, JsonOptionValue>, string[], number | null]>([
    ["an exact text of 64 bits", "topic", { max_topic_size: "9007199254740993" }, [], null],
    ["zero", "topic", { message_expiry: 0n }, [], 3],
    ["set and reset", "topic", { message_expiry: "1 day" }, ["message_expiry"], 3],
    ["an unknown key", "topic", { retention: "1 day" }, [], 4041],
    ["compression", "topic", { compression_algorithm: "gzip" }, [], null],
    ["reset of compression", "topic", {}, ["compression_algorithm"], null],
    ["durability", "topic", { durability: "persisted" }, [], 4103],
    ["reset of durability", "topic", {}, ["durability"], 4103],
    ["reset of a column", "stream", {}, ["name"], 4104],
    ["a number as a name", "topic", { name: 5n }, [], 2014],
    ["an empty name", "stream", { name: "" }, [], 1013],
    ["a boolean as a status", "user", { status: true }, [], 45],
    ["a key of another scope", "user", { name: "" }, [], 4041],
    ["a boolean as a size", "topic", { segment_size: true }, [], 4103],
    ["a computed key", "stream", { encryption_key_source: 1n }, [], 4105],
    ["a text that is no duration", "topic", { message_expiry: "soon" }, [], 4042],
    ["a boolean as a duration", "topic", { message_expiry: true }, [], 4042],
    ["a create-only reset before an empty name", "topic", { name: "" }, ["segment_size"], 4103],
    ["a reset of a column before a short name", "user", { username: "a" }, ["status"], 4104],
    ["a text over 255 bytes", "topic", { name: "x".repeat(256) }, [], 2014],
  ])("%s", (_, scope, body, reset, code) => {
    expect(patch(scope, body, reset)).toBe(code);
  });

  it("keeps a number in the canonical kind of its key where it fits", () => {
    expect(optionFromJson("topic", "replication_factor", 3n)).toEqual(optionU32("replication_factor", 3));
    expect(optionFromJson("topic", "replication_factor", 2n ** 32n)).toEqual(
      optionU64("replication_factor", 2n ** 32n),
    );
    expect(optionFromJson("topic", "message_expiry", 5n)).toEqual(optionU64("message_expiry", 5n));
  });
});

describe("texts of values", () => {
  it.each<[HeaderKindName, string]>([
    ["string", "persisted"],
    ["bool", "true"],
    ["bool", "false"],
    ["int8", "-128"],
    ["int16", "32767"],
    ["int32", "-1"],
    ["int64", "-9223372036854775808"],
    ["int128", "-170141183460469231731687303715884105728"],
    ["uint8", "255"],
    ["uint16", "0"],
    ["uint32", "4294967295"],
    ["uint64", "604800000000"],
    ["uint128", "340282366920938463463374607431768211455"],
    ["raw", "AAEC/w=="],
    ["float32", "0x3fc00000"],
    ["float64", "0xbfc0000000000000"],
    ["float32", "0x7fa00001"],
    ["float64", "0xfff4000000000001"],
  ])("%s %s reads back", (kind, text) => {
    const entry = optionFromText("k", kind, text);
    expect(entry.kind).toBe(HeaderKind[kind]);
    expect(optionText(entry)).toBe(text);
  });

  it.each<[HeaderKindName, string]>([
    ["uint32", "+1"],
    ["uint32", "01"],
    ["uint32", "-0"],
    ["uint8", "256"],
    ["int8", "128"],
    ["bool", "True"],
    ["raw", "AAEC/w"],
    ["float32", "0x3FC00000"],
    ["float32", "0x3fc0000000000000"],
    ["float64", "1.5"],
    ["uint64", ""],
  ])("%s %s is refused", (kind, text) => {
    expect(codeOf(() => optionFromText("k", kind, text))).toBe(4019);
  });

  it("reads the bits of floats, not their digits", () => {
    expect(readOptionValue(optionFromText("k", "float64", "0xbfc0000000000000"))).toEqual({
      kind: "float64",
      value: -0.125,
    });
  });

  it("shows nothing for a kind that it does not know", () => {
    expect(optionText({ key: "k", kind: 77, value: Uint8Array.of(1) })).toBeUndefined();
    expect(optionText({ key: "k", kind: HeaderKind.uint32, value: Uint8Array.of(1) })).toBeUndefined();
  });
});
