import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringifyJson } from "../../../src/http/json/index.js";

describe("stringifyJson", () => {
  it("writes what JSON.stringify writes where there is no bigint", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
        expect(stringifyJson(value as never)).toBe(JSON.stringify(value));
      }),
    );
  });

  it("writes bigints as numbers with all their digits", () => {
    expect(stringifyJson({ id: 2n ** 128n - 1n, list: [0n] })).toBe(
      '{"id":340282366920938463463374607431768211455,"list":[0]}',
    );
  });

  it("writes every bigint as text on demand, small ones too, and numbers as before", () => {
    expect(stringifyJson({ id: 1n, count: 2 }, "string")).toBe('{"id":"1","count":2}');
  });

  it("leaves out what is undefined", () => {
    expect(stringifyJson({ a: undefined, b: null })).toBe('{"b":null}');
  });

  it.each([NaN, Infinity])("refuses %d", (value) => {
    expect(() => stringifyJson([value])).toThrow(RangeError);
  });
});
