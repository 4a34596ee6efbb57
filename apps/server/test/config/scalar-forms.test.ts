import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { addressKind, dialableHost } from "../../src/config/kinds/address.js";
import { cpuAllocationKind } from "../../src/config/kinds/cpu-allocation.js";
import { ValueRefused, type Kind } from "../../src/config/kinds/kind.js";
import { listKind } from "../../src/config/kinds/list.js";
import { logDirectivesKind } from "../../src/config/kinds/log-level.js";
import { boolKind, choiceKind, floatKind, intKind, textKind } from "../../src/config/kinds/plain.js";
import { durationKind, expiryKind, sizeKind } from "../../src/config/kinds/quantity.js";

/** Reads the right-hand side of a TOML assignment with a kind. */
function fromToml<T>(kind: Kind<T>, literal: string): T {
  const value = parse(`key = ${literal}`, { integersAsBigInt: true })["key"];
  if (value === undefined) throw new Error("no value");
  return kind.fromToml(value);
}

/** Table of accepted texts; each must read the same from the environment, from TOML and from its own rendering. */
function accepts<T>(kind: Kind<T>, rows: readonly (readonly [text: string, value: T, literal?: string])[]): void {
  for (const [text, value, literal = JSON.stringify(text)] of rows) {
    it(`accepts ${text} and ${literal}`, () => {
      expect(kind.fromText(text)).toEqual(value);
      expect(fromToml(kind, literal)).toEqual(value);
      expect(fromToml(kind, kind.toToml(value))).toEqual(value);
    });
  }
}

function refuses<T>(kind: Kind<T>, texts: readonly string[], literals: readonly string[], rule: RegExp): void {
  it.each(texts)("refuses %s in the environment", (text) => {
    expect(() => kind.fromText(text)).toThrow(ValueRefused);
    expect(() => kind.fromText(text)).toThrow(rule);
  });
  it.each(literals)("refuses %s in the file", (literal) => {
    expect(() => fromToml(kind, literal)).toThrow(ValueRefused);
    expect(() => fromToml(kind, literal)).toThrow(rule);
  });
}

describe("duration", () => {
  const kind = durationKind({});
  accepts(kind, [
    ["0", 0],
    ["unlimited", 0],
    ["Disabled", 0],
    ["NONE", 0],
    ["1ns", 0],
    ["500 usec", 0.5],
    ["15us", 0.015],
    ["7 µs", 0.007],
    ["500ms", 500],
    ["500 Millis", 500],
    ["3 msec", 3],
    ["1s", 1000],
    ["2 secs", 2000],
    ["2 seconds", 2000],
    ["1 m", 60_000],
    ["1 M", 60_000],
    ["5 mins", 300_000],
    ["1 h 30 m", 5_400_000],
    ["1.5h", 5_400_000],
    ["1s1s", 2000],
    ["10 hours 5min 3sec", 36_303_000],
    ["7 days", 604_800_000],
    ["2 weeks", 1_209_600_000],
    ["1 wk", 604_800_000],
    ["1 month", 2_630_016_000],
    ["1 year", 31_557_600_000],
  ]);
  refuses(
    kind,
    ["", "30", "-1s", "abc", "1 parsec", "s", "1s and more"],
    ["30", "0", "true", "1.5", '"30"', "[]", "1979-05-27"],
    /must be a duration in quotes with its unit, such as "30 s"/,
  );
  it("refuses what no clock counts", () => {
    expect(() => kind.fromText("300000 years")).toThrow("is too long");
  });
  it.each([
    [{ above: "0" }, "0", "must be above 0s"],
    [{ min: "2 s" }, "1999 ms", "must be at least 2s"],
    [{ max: "10 min" }, "601 s", "must be at most 10m"],
    [{ min: "1 s", orZero: true }, "10 ms", "must be at least 1s, or 0"],
  ])("keeps the bounds %j", (bounds, text, rule) => {
    expect(() => durationKind(bounds).fromText(text)).toThrow(rule);
  });
  it("takes 0 beside a lower bound where the key gives it a meaning", () => {
    expect(durationKind({ min: "1 s", orZero: true }).fromText("0")).toBe(0);
  });
});

describe("byte size", () => {
  const kind = sizeKind({});
  accepts(kind, [
    ["0", 0],
    ["1024", 1024, "1024"],
    ["1024", 1024],
    ["1 B", 1],
    ["1KB", 1000],
    ["1 K", 1000],
    ["10M", 10_000_000],
    ["1 KiB", 1024],
    ["1 kiB", 1024],
    ["8Kib", 1024],
    ["8 Kibits", 1024],
    ["1 kbit", 125],
    ["1.5 GB", 1_500_000_000],
    ["64 MiB", 67_108_864],
    ["2176 MiB", 2_281_701_376],
    ["1 TB", 1e12],
    ["1048577", 1_048_577, "1_048_577"],
  ]);
  refuses(
    kind,
    ["", "abc", "-1", "1,000", "unlimited", "none", "1 XB", "MiB"],
    ["true", '"unlimited"', "-1", "1.5", "[1]"],
    /must be a number of bytes or a size in quotes with its unit, such as "64 MiB"/,
  );
  it("refuses what does not fit into an exact number", () => {
    expect(() => kind.fromText("10 EB")).toThrow("is too large");
  });
  it("takes the words for nothing only where a key allows them", () => {
    expect(sizeKind({ words: true }).fromText("Unlimited")).toBe(0);
    expect(fromToml(sizeKind({ words: true }), '"none"')).toBe(0);
  });
  it.each([
    [{ multipleOf: 4096 }, "4097", "must be a multiple of 4096 bytes"],
    [{ min: "280 B" }, "279", "must be at least 280 B"],
    [{ max: "1 GiB" }, "1025 MiB", "must be at most 1 GiB"],
    [{ above: "0" }, "0", "must be above 0 B"],
  ])("keeps the bounds %j", (bounds, text, rule) => {
    expect(() => sizeKind(bounds).fromText(text)).toThrow(rule);
  });
});

describe("boolean", () => {
  accepts(boolKind, [
    ["true", true, "true"],
    ["FALSE", false, "false"],
    ["True", true, "true"],
  ]);
  refuses(boolKind, ["1", "yes", ""], ['"true"', "1", "0"], /must be true or false/);
});

describe("integer", () => {
  accepts(intKind({}), [
    ["0", 0, "0"],
    ["+7", 7, "7"],
    ["65536", 65_536, "65_536"],
    ["9007199254740991", Number.MAX_SAFE_INTEGER, "9007199254740991"],
  ]);
  refuses(intKind({}), ["", "1.0", "0x10", "abc"], ["1.0", '"1"', "true"], /must be an integer/);
  it.each([
    ["-1", "must be at least 0"],
    ["9007199254740992", "is too large"],
    ["18446744073709551615", "is too large"],
  ])("refuses %s", (text, rule) => {
    expect(() => intKind({}).fromText(text)).toThrow(rule);
  });
  it("keeps its bounds", () => {
    expect(() => intKind({ min: 1, max: 127 }).fromText("128")).toThrow("must be at most 127");
    expect(() => intKind({ min: 1, max: 127 }).fromText("0")).toThrow("must be at least 1");
  });
});

describe("number", () => {
  accepts(floatKind({}), [
    ["1", 1, "1"],
    ["0.25", 0.25, "0.25"],
    ["1e-3", 0.001, "1e-3"],
  ]);
  refuses(floatKind({}), ["", "nan", "inf", "0x1"], ["nan", "inf", '"1"'], /must be a number/);
});

describe("text and choice", () => {
  accepts(textKind(), [
    ["123", "123"],
    ["true", "true"],
  ]);
  it("writes what reads back, control characters included", () => {
    const value = 'quote " backslash \\ tab \t delete \u007f bell \u0007 umlaut ä';
    expect(fromToml(textKind(), textKind().toToml(value))).toBe(value);
  });
  refuses(choiceKind(["grpc", "http"]), ["GRPC", ""], ["1", '"udp"'], /must be one of "grpc", "http"/);
});

describe("list", () => {
  accepts(listKind(textKind(), 4), [
    ["[]", [], "[]"],
    ["[a]", ["a"], '["a"]'],
    ['[ a , b, "c,d" ]', ["a", "b", "c,d"], '["a", "b", "c,d"]'],
    [
      '["https://a.example", "https://b.example"]',
      ["https://a.example", "https://b.example"],
      '["https://a.example", "https://b.example"]',
    ],
    ["[a,,b]", ["a", "", "b"], '["a", "", "b"]'],
  ]);
  refuses(listKind(textKind(), 4), ["", "a,b", "[a"], ['"a"', "1"], /must be a list/);
  refuses(listKind(textKind(), 4), ["[a,b,c,d,e]"], ['["a","b","c","d","e"]'], /may hold at most 4 elements/);
  it("refuses an open quote", () => {
    expect(() => listKind(textKind(), 4).fromText('["a]')).toThrow("a double quote that is never closed");
  });
});

describe("bind address", () => {
  accepts(addressKind, [
    ["127.0.0.1:8090", { host: "127.0.0.1", port: 8090 }],
    ["0.0.0.0:0", { host: "0.0.0.0", port: 0 }],
    ["[::1]:65535", { host: "::1", port: 65_535 }],
  ]);
  refuses(
    addressKind,
    [
      ":8090",
      "localhost:8090",
      "0.0.0.0",
      "0.0.0.0:",
      "::1:8090",
      "1.2.3.4:65536",
      "1.2.3:1",
      "[127.0.0.1]:1",
      "1.2.3.4:-1",
    ],
    ["8090"],
    /must be a literal IP and a port/,
  );
});

describe("host that clients dial", () => {
  it.each([
    ["broker-1.example.com", "broker-1.example.com"],
    ["Broker", "broker"],
    ["10.0.0.1", "10.0.0.1"],
    ["fd00::1", "fd00::1"],
    ["a".repeat(63), "a".repeat(63)],
  ])("accepts %s", (text, stored) => {
    expect(dialableHost(text)).toBe(stored);
  });
  it.each([
    ["0.0.0.0", "unspecified"],
    ["::", "unspecified"],
    ["::ffff:0.0.0.0", "unspecified"],
    ["host:8090", "without a port"],
    ["host.", "end with a dot"],
    ["-host", "literal IP or a host name"],
    ["host-", "literal IP or a host name"],
    ["ho_st", "literal IP or a host name"],
    ["", "literal IP or a host name"],
    ["a..b", "literal IP or a host name"],
    ["a".repeat(64), "literal IP or a host name"],
    [Array.from({ length: 128 }, () => "a").join("."), "253 bytes"],
    ["1.2.3", "digits and dots"],
    ["256.1.1.1", "digits and dots"],
  ])("refuses %s", (text, rule) => {
    expect(() => dialableHost(text)).toThrow(rule);
  });
});

describe("CPU allocation", () => {
  accepts(cpuAllocationKind, [
    ["all", { mode: "all" }],
    ["4", { mode: "count", count: 4 }],
    ["4", { mode: "count", count: 4 }, "4"],
    ["0..4", { mode: "range", first: 0, end: 4 }],
    ["numa:auto", { mode: "numa", cores: 0, noHt: true }],
    ["numa:nodes=0,1;cores=4;no_ht=false", { mode: "numa", nodes: [0, 1], cores: 4, noHt: false }],
    ["numa:cores=2", { mode: "numa", cores: 2, noHt: true }],
  ]);
  it.each([
    ["0", "at least 1 core"],
    ["4..4", "A below B"],
    ["some", 'must be "all"'],
    ["", 'must be "all"'],
    ["numa:threads=1", "unknown parameter"],
    ["numa:nodes=", "unknown parameter"],
  ])("refuses %s", (text, rule) => {
    expect(() => cpuAllocationKind.fromText(text)).toThrow(rule);
  });
});

describe("log level", () => {
  accepts(logDirectivesKind, [
    ["info", { level: "info", targets: new Map() }],
    ["NONE", { level: "off", targets: new Map() }],
    ["warn,tcp=debug", { level: "warn", targets: new Map([["tcp", "debug"]] as const) }],
    ["server::tcp=trace", { level: "info", targets: new Map([["server::tcp", "trace"]] as const) }],
  ]);
  it.each([
    ["verbose", "has no level"],
    ["", "has no level"],
    ["info,debug", "two levels"],
    ["tcp=loud", "has no level"],
    ["=info", "name of a part"],
    ["info,", "has no level"],
  ])("refuses %s", (text, rule) => {
    expect(() => logDirectivesKind.fromText(text)).toThrow(rule);
  });
});

describe("expiry", () => {
  accepts(expiryKind, [
    ["1 h", { micros: 3_600_000_000n }],
    ["never_expire", "never"],
    ["Unlimited", "never"],
    ["server_default", "server_default"],
    ["1 M", { micros: 2_630_016_000_000n }],
  ]);
  refuses(expiryKind, ["137 years", "soon", ""], ["3600"], /must be a duration such as "1 h"/);
});
