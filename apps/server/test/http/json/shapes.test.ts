import { encodeHeaderFields, HeaderKind, keysOf } from "@iggy/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  base64,
  byteSizeText,
  flag,
  headerEntryShape,
  headersJson,
  type JsonValue,
  list,
  nullable,
  object,
  oneOf,
  optional,
  optionMapShape,
  parseJson,
  partitionContextJson,
  partitionContextShape,
  type Shape,
  ShapeError,
  stringifyJson,
  text,
  u128,
  u32,
  u64,
} from "../../../src/http/json/index.js";

const refusal = (shape: Shape<unknown>, json: string): ShapeError => {
  try {
    shape.read(parseJson(json));
  } catch (error) {
    if (error instanceof ShapeError) return error;
    throw error;
  }
  throw new Error(`${json} was taken`);
};

describe("a shape", () => {
  const member = object({ name: text({ min: 1, max: 4 }), count: optional(u32, 7), at: optional(nullable(u64), null) });

  it.each<[string, object]>([
    ['{"name": "a"}', { name: "a", count: 7, at: null }],
    ['{"name": "äö", "count": 0, "at": null}', { name: "äö", count: 0, at: null }],
    ['{"name": "a", "at": 18446744073709551615, "more": [1]}', { name: "a", count: 7, at: 2n ** 64n - 1n }],
  ])("reads %s", (json, value) => {
    expect(member.read(parseJson(json))).toEqual(value);
  });

  it.each<[Shape<unknown>, string, string]>([
    [member, "[]", "must be an object, not an array"],
    [member, "null", "must be an object, not null"],
    [member, "{}", "name: is missing"],
    [member, '{"name": 5}', "name: must be a text, not a number"],
    [member, '{"name": ""}', "name: takes 1 to 4 bytes, not 0"],
    [member, '{"name": "äöü"}', "name: takes 1 to 4 bytes, not 6"],
    [member, '{"name": "a", "count": null}', "count: must be a number, not null"],
    [member, '{"name": "a", "count": 4294967296}', "count: must be an integer from 0 to 4294967295"],
    [member, '{"name": "a", "count": -1}', "count: must be an integer from 0 to 4294967295"],
    [member, '{"name": "a", "count": 1.5}', "count: must be an integer from 0 to 4294967295"],
    [member, '{"name": "a", "count": "1"}', "count: must be a number, not a text"],
    [member, '{"name": "a", "at": 18446744073709551616}', "at: must be an integer from 0 to 18446744073709551615"],
    [object({ a: flag }, { unknown: "refused" }), '{"a": true, "b": 1}', "b: is no member here"],
    [object({ a: flag }, { unknown: "refused" }), '{"a": true, "__proto__": 1}', "__proto__: is no member here"],
    [flag, "1", "must be true or false, not a number"],
    [oneOf("a", "b"), '"c"', "must be one of a, b"],
    [oneOf("a", "b"), "{}", "must be a text, not an object"],
    [list(u32, { min: 1, max: 2 }), "[]", "takes 1 to 2 items, not 0"],
    [list(u32, { min: 1, max: 2 }), "[1,2,3]", "takes 1 to 2 items, not 3"],
    [list(object({ id: u32 })), '[{"id": 1}, {"id": true}]', "[1].id: must be a number, not a boolean"],
    [object({ rows: list(list(u32)) }), '{"rows": [[1], [2, "x"]]}', "rows[1][1]: must be a number, not a text"],
  ])("refuses with the path of the member: %#", (shape, json, message) => {
    const error = refusal(shape, json);
    expect(error.message).toBe(message);
    expect(error.code).toBe(3);
  });

  it("never repeats a value in its refusal", () => {
    expect(refusal(object({ secret: u32 }), '{"secret": "hunter2"}').message).not.toContain("hunter2");
  });
});

describe("large integers", () => {
  it.each<[Shape<bigint>, bigint]>([
    [u64, 2n ** 64n - 1n],
    [u128, 2n ** 128n - 1n],
  ])("are numbers or decimal texts up to their maximum", (shape, max) => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max }), fc.boolean(), (value, isText) => {
        expect(shape.read(parseJson(stringifyJson(value, isText ? "string" : "number")))).toBe(value);
      }),
    );
    for (const json of [String(max + 1n), `"${max + 1n}"`, "-1", "0.5", '"+1"', '""', '"1e3"', "1e40", "true"]) {
      expect(() => shape.read(parseJson(json))).toThrow(ShapeError);
    }
  });
});

describe("base64", () => {
  it("gives the bytes that were encoded", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(base64().read(Buffer.from(bytes).toString("base64"))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it.each(["aGVsbG8", "aGVsbG9=", "aGVs bG8=", "aGVs\nbG8=", "_-8=", "=", "aGVsbG8==", "Ł===", "aGVsbG8=a"])(
    "refuses %j",
    (encoded) => {
      expect(() => base64().read(encoded)).toThrow("must be standard base64 with padding");
    },
  );
});

describe("sizes", () => {
  it.each([
    [0, "0 B"],
    [4096, "4 KiB"],
    [1500, "1.5 KB"],
    [3_211_776, "3136.5 KiB"],
    [1_234_567, "1234.567 KB"],
  ])("%d is %s", (bytes, shown) => {
    expect(byteSizeText(bytes)).toBe(shown);
  });
});

describe("a partition context", () => {
  it("comes back as it was shown", () => {
    const context = { incarnation: 2n ** 64n - 1n, ownerGeneration: 0n, metadataOp: 12n };
    expect(partitionContextShape.read(parseJson(stringifyJson(partitionContextJson(context))))).toEqual(context);
  });

  it("needs all three members", () => {
    expect(refusal(partitionContextShape, '{"incarnation": 1, "metadata_op": 2}').message).toBe(
      "owner_generation: is missing",
    );
  });
});

describe("an options map", () => {
  it("takes booleans, integers and texts in their order", () => {
    const read = optionMapShape.read(parseJson('{"b": true, "a": 18446744073709551615, "__proto__": "7 days"}'));
    expect(read).toEqual([
      ["b", true],
      ["a", 18446744073709551615n],
      ["__proto__", "7 days"],
    ]);
  });

  it.each(["null", "-1", "1.5", "[]", "{}"])("refuses %s as a value", (value) => {
    expect(refusal(optionMapShape, `{"durability": ${value}}`).message).toMatch(/^durability: must be true, false/);
  });
});

describe("user headers", () => {
  const samples: Readonly<Record<keyof typeof HeaderKind, string>> = {
    raw: "00ff",
    string: "6b6579",
    bool: "01",
    int8: "ff",
    int16: "8041",
    int32: "2a000000",
    int64: "0000000000000080",
    int128: "01000000000000000000000000000080",
    uint8: "ff",
    uint16: "ffff",
    uint32: "2a000000",
    uint64: "ffffffffffffffff",
    uint128: "ffffffffffffffffffffffffffffffff",
    float32: "010080ff",
    float64: "010000000000f07f",
  };
  const fieldJson = (kind: string, hex: string): JsonValue => ({
    kind,
    value: Buffer.from(hex, "hex").toString("base64"),
  });

  it.each(keysOf(HeaderKind))("of kind %s keep every bit, as keys and as values", (kind) => {
    const json = [{ key: fieldJson(kind, samples[kind]), value: fieldJson(kind, samples[kind]) }];
    expect(headersJson(encodeHeaderFields(json.map((entry) => headerEntryShape.read(entry))))).toEqual(json);
  });

  it("come in the order of their keys, the last of equal keys", () => {
    const entry = (key: string, value: string): JsonValue => ({
      key: fieldJson("string", Buffer.from(key).toString("hex")),
      value: fieldJson("raw", value),
    });
    const block = encodeHeaderFields(
      [entry("b", "01"), entry("a", "02"), entry("b", "03")].map((json) => headerEntryShape.read(json)),
    );
    expect(headersJson(block)).toEqual([entry("a", "02"), entry("b", "03")]);
  });

  it.each<[JsonValue, JsonValue, number, string]>([
    [fieldJson("int32", "01"), fieldJson("raw", "01"), 4018, "key.value: must be the bytes of a header of kind int32"],
    [fieldJson("raw", "01"), fieldJson("bool", "02"), 4019, "value.value: must be the bytes of a header of kind bool"],
    [fieldJson("raw", "01"), fieldJson("string", "ff"), 4019, "value.value: must be"],
    [fieldJson("raw", ""), fieldJson("raw", "01"), 4018, "key.value: takes 1 to 255 bytes, not 0"],
    [fieldJson("raw", "01"), fieldJson("raw", "00".repeat(256)), 4019, "value.value: takes 1 to 255 bytes, not 256"],
    [fieldJson("uint256", "01"), fieldJson("raw", "01"), 3, "key.kind: must be one of raw, string"],
  ])("that no kind can hold are refused with the code of the field: %#", (key, value, code, message) => {
    const error = refusal(headerEntryShape, stringifyJson({ key, value }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
  });

  it.each([
    ["nothing", "", []],
    ["bytes that are no headers", "0102030405", "AQIDBAU="],
    [
      "a kind that is not known",
      "1001000000aa0101000000bb",
      Buffer.from("1001000000aa0101000000bb", "hex").toString("base64"),
    ],
    [
      "a value of a wrong size",
      "0101000000aa0601000000bb",
      Buffer.from("0101000000aa0601000000bb", "hex").toString("base64"),
    ],
  ])("show %s as it is", (_, hex, shown) => {
    expect(headersJson(Buffer.from(hex, "hex"))).toEqual(shown);
  });
});
