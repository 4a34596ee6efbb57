import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonError, JsonSyntaxError, parseJson, parseJsonBytes, stringifyJson } from "../../../src/http/json/index.js";

const bigInteger = fc.oneof(
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 128n - 1n }),
  fc.bigInt({ min: -(2n ** 64n), max: -(2n ** 53n) }),
);
const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }));
const { value: lossless } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger().map((value) => value + 0),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Number.isInteger(value)),
    bigInteger,
    text,
    fc.array(tie("value")),
    fc.dictionary(fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toString")), tie("value")),
  ),
}));
/** Text of a kind that `JSON.parse` takes, or nearly. */
const nearlyJson = fc
  .tuple(
    fc.json({ stringUnit: "grapheme" }),
    fc.nat(),
    fc.constantFrom("", " ", "\n", ",", '"', "\\", "0", "-", "]", "}", "e5", ".", "\u0000", "tru"),
  )
  .map(([json, at, insert]) => {
    const place = at % (json.length + 1);
    return json.slice(0, place) + insert + json.slice(place + (at % 2));
  });

const nativelyParsed = (json: string): { readonly value?: unknown } => {
  try {
    return { value: JSON.parse(json) };
  } catch {
    return {};
  }
};

const fault = (json: string): JsonSyntaxError => {
  try {
    parseJson(json);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
  }
  throw new Error(`${json} was taken`);
};

describe("parseJson", () => {
  it("gives back what stringifyJson wrote, digit by digit", () => {
    fc.assert(
      fc.property(lossless, (value) => {
        expect(parseJson(stringifyJson(value as never))).toEqual(value);
      }),
    );
  });

  it("equals JSON.parse where no integer exceeds 2^53", () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: "grapheme" }), fc.constantFrom("", " ", "\n\t\r "), (json, space) => {
        fc.pre(!/[0-9]{16}/.test(json));
        const spaced = space + json.replaceAll(/[[\]{}:]/g, (mark) => space + mark + space) + space;
        expect(parseJson(spaced)).toEqual(JSON.parse(spaced));
      }),
    );
  });

  it("takes and refuses what JSON.parse takes and refuses", () => {
    fc.assert(
      fc.property(nearlyJson, (json) => {
        const native = nativelyParsed(json);
        try {
          const value = parseJson(json);
          expect("value" in native).toBe(true);
          // Integers above 2^53 differ on purpose.
          if (!/[0-9]{16}/.test(json)) expect(value).toEqual(native.value);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonSyntaxError);
          const isStricter = /twice|surrogate|digits|large/.test((error as Error).message);
          if (!isStricter) expect(native).toEqual({});
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["18446744073709551615", 18446744073709551615n],
    ["340282366920938463463374607431768211455", 340282366920938463463374607431768211455n],
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740993", -9007199254740993n],
    ["1e3", 1000],
    ["-0", -0],
    ["2.5", 2.5],
  ])("reads %s without loss", (json, value) => {
    expect(parseJson(json)).toBe(value);
  });

  it("refuses a name that an object holds twice, however it is spelled", () => {
    expect(fault('{"a": 1, "b": {"a": 2}, "\\u0061": 1}').message).toBe(
      'the JSON is malformed: "a" is there twice at line 1, column 25',
    );
  });

  it.each(["__proto__", "constructor", "hasOwnProperty"])("treats the name %s like any other", (name) => {
    const parsed = parseJson(`{"${name}": {"polluted": 1}}`);
    expect(Object.keys(parsed as object)).toEqual([name]);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(Reflect.get(parseJson("{}") as object, name)).toBeUndefined();
  });

  it("refuses nesting beyond 64 levels, however deep", () => {
    const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
    expect(() => parseJson(nested(64))).not.toThrow();
    expect(fault(nested(65)).message).toContain("more than 64 levels");
    expect(fault("[".repeat(1_000_000)).position).toBe(64);
    expect(fault('{"a":'.repeat(100_000)).message).toContain("more than 64 levels");
  });

  it.each([
    ["", 0, "the text ends too early"],
    ['{"a": 1,\n "b": }', 15, "a value belongs here at line 2, column 7"],
    ['{"a" 1}', 5, "a colon"],
    ['{"a": 1 "b": 2}', 8, "a comma or the end of the object"],
    ["{a: 1}", 1, "a name in quotes"],
    ["[1, 2", 5, "the end of the array"],
    ['["ab', 4, "a text does not end"],
    ['["a\nb"]', 3, "a control character"],
    ['["\\x"]', 2, "this escape"],
    ['["\\u12"]', 2, "this escape"],
    ['["\\ud800"]', 2, "surrogate"],
    ["[01]", 2, "the end of the array"],
    ["1 2", 2, "nothing may follow"],
    ["\ufeff1", 0, "a value"],
    [`1${"0".repeat(40)}`, 0, "more than 40 digits"],
    ["1e999", 0, "too large"],
  ])("says where %j goes wrong", (json, position, message) => {
    const error = fault(json);
    expect(error.position).toBe(position);
    expect(error.message).toContain(message);
    expect(error.code).toBe(3);
  });

  it("does not keep the text of a body in its error", () => {
    expect(fault('{"password": "hunter2" "x"').message).not.toContain("hunter2");
  });
});

describe("parseJsonBytes", () => {
  it("reads UTF-8", () => {
    expect(parseJsonBytes(Buffer.from('["ä", "😀"]'))).toEqual(["ä", "😀"]);
  });

  it("refuses bytes that are no UTF-8", () => {
    expect(() => parseJsonBytes(Buffer.from([0x22, 0xff, 0x22]))).toThrow(JsonError);
  });
});
