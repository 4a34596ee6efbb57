import fc from "fast-check";
import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { ConfigError, currentConfigToml, parseArguments, parseCidr, cidrContains } from "../../src/config/index.js";
import { ValueRefused, type Kind } from "../../src/config/kinds/kind.js";
import { listKind } from "../../src/config/kinds/list.js";
import { textKind } from "../../src/config/kinds/plain.js";
import { durationKind, sizeKind } from "../../src/config/kinds/quantity.js";
import { CONFIG_LEAVES } from "../../src/config/index.js";
import { read } from "./read.js";

function throughToml<T>(kind: Kind<T>, value: T): T {
  const parsed = parse(`key = ${kind.toToml(value)}`, { integersAsBigInt: true })["key"];
  return parsed === undefined ? value : kind.fromToml(parsed);
}

describe("what is written reads back", () => {
  it("durations, to the microsecond", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (micros) => {
        expect(throughToml(durationKind({}), micros / 1000)).toBe(micros / 1000);
      }),
    );
  });

  it("durations so long that milliseconds barely tell two microseconds apart", () => {
    fc.assert(
      fc.property(fc.integer({ min: 2 ** 50, max: Number.MAX_SAFE_INTEGER }), (micros) => {
        expect(throughToml(durationKind({}), micros / 1000)).toBe(micros / 1000);
      }),
      { numRuns: 2000 },
    );
  });

  it("sizes, to the byte", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (bytes) => {
        expect(throughToml(sizeKind({}), bytes)).toBe(bytes);
      }),
    );
  });

  it("texts and lists of any characters", () => {
    const text = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(fc.array(text), (values) => {
        expect(throughToml(listKind(textKind(), 100), values)).toEqual(values);
      }),
    );
  });
});

describe("whatever an operator writes", () => {
  it("each kind gives a value or a rule, and never another error", () => {
    const leaf = fc.constantFrom(...CONFIG_LEAVES);
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{1,8} ?[a-zA-Z]{0,4}$/), fc.constant("[a,b]"));
    fc.assert(
      fc.property(leaf, text, ({ key: { kind } }, value) => {
        try {
          const read = kind.fromText(value);
          if (kind.unit !== "none" && read !== undefined) expect(Number(read)).toBeGreaterThanOrEqual(0);
        } catch (error) {
          expect(error).toBeInstanceOf(ValueRefused);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("a file gives settings that read back, or problems, and never another error", () => {
    const leaf = fc.constantFrom(...CONFIG_LEAVES.filter(({ path }) => !path.includes("[]")));
    const value = fc.oneof(
      fc.integer({ min: -5, max: 100_000 }).map(String),
      fc.boolean().map(String),
      fc.constantFrom('"1 s"', '"64 MiB"', '"0"', '"127.0.0.1:1"', "[]", '["a"]', "{}", "1.5", '"all"', '"info"'),
    );
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(leaf, value), { selector: ([{ path }]) => path, maxLength: 6 }), (lines) => {
        const toml = lines.map(([{ path }, literal]) => `${path} = ${literal}`).join("\n");
        try {
          const { config } = read({ toml });
          expect(currentConfigToml(read({ toml: currentConfigToml(config) }).config)).toBe(currentConfigToml(config));
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigError);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("the command line never throws", () => {
    const word = fc.oneof(fc.string(), fc.constantFrom("--fresh", "--replica-id", "--config", "-f", "--replica-id=7"));
    fc.assert(
      fc.property(fc.array(word), (argv) => {
        expect(parseArguments(argv).command).toMatch(/^(run|list-config-env-vars|help|version|refuse)$/);
      }),
    );
  });
});

it("an address lies in every network that is cut from it", () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), (ip, prefix) => {
      expect(cidrContains(parseCidr(`${ip}/${prefix}`), ip)).toBe(true);
    }),
  );
  fc.assert(
    fc.property(fc.ipV6(), fc.integer({ min: 0, max: 128 }), (ip, prefix) => {
      expect(cidrContains(parseCidr(`${ip}/${prefix}`), ip)).toBe(true);
    }),
  );
});
