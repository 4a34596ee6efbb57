import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WireError } from "../../src/codec/index.js";
import { IggyError } from "../../src/errors/index.js";
import {
  decodeUserHeaders,
  encodeUserHeaders,
  header,
  type HeaderInput,
  type HeaderValue,
  tryDecodeUserHeaders,
} from "../../src/messages/index.js";
import { fromHex, loadVectors, toHex } from "../golden.js";
import type { GoldenHeaderField } from "./fixtures.js";

interface Vector {
  readonly type: string;
  readonly name: string;
  readonly hex: string;
  readonly fields: readonly { readonly key: GoldenHeaderField; readonly value: GoldenHeaderField }[];
  readonly error: { readonly kind: string };
}
const primitives: { readonly cases: readonly Vector[]; readonly negative: readonly Vector[] } =
  loadVectors("primitives");
const isHeaders = ({ type }: Vector): boolean => type === "UserHeaders";

/** What a vector shows of a field: raw ones show no value, numbers above 32 bits are text. */
const shown = (field: HeaderValue): unknown => {
  if (field.kind === "raw") return null;
  return typeof field.value === "bigint" || field.kind.startsWith("float") ? String(field.value) : field.value;
};
const codeOf = (act: () => unknown): number | undefined => {
  try {
    act();
    return undefined;
  } catch (error) {
    return error instanceof IggyError ? error.code : -1;
  }
};

describe("golden user headers", () => {
  it.each(primitives.cases.filter(isHeaders))("$name decodes, and encodes from its typed pairs", ({ fields, hex }) => {
    const decoded = decodeUserHeaders(fromHex(hex));
    const pairs = [...decoded];
    expect(pairs.map(([key, value]) => [key.kind, shown(key), value.kind, shown(value)])).toEqual(
      fields.map(({ key, value }) => [key.kind, key.value, value.kind, value.value]),
    );
    expect(toHex(encodeUserHeaders(pairs))).toBe(hex);
    expect(toHex(encodeUserHeaders([...pairs].reverse()))).toBe(hex);
    for (const [key, value] of pairs) expect(decoded.get(key)).toEqual(value);
  });

  it.each(primitives.negative.filter(isHeaders))("$name is refused as $error.kind", ({ hex, error }) => {
    expect(() => decodeUserHeaders(fromHex(hex))).toThrow(expect.objectContaining({ kind: error.kind }) as Error);
    expect(tryDecodeUserHeaders(fromHex(hex))).toBeUndefined();
  });
});

describe("user headers", () => {
  it("take plain text, booleans and bytes, and numbers with their type", () => {
    const bytes = encodeUserHeaders({
      trace: "abc-123",
      urgent: true,
      digest: Uint8Array.of(1, 2),
      attempt: header.uint32(2),
    });
    const headers = decodeUserHeaders(bytes);
    expect(headers.size).toBe(4);
    expect(headers.text("trace")).toBe("abc-123");
    expect(headers.get("urgent")).toEqual({ kind: "bool", value: true });
    expect(headers.get("attempt")).toEqual({ kind: "uint32", value: 2 });
    expect(headers.text("attempt")).toBeUndefined();
    expect(headers.has("missing")).toBe(false);
    expect(headers.toRecord()).toEqual({
      attempt: { kind: "uint32", value: 2 },
      digest: { kind: "raw", value: Uint8Array.of(1, 2) },
      trace: { kind: "string", value: "abc-123" },
      urgent: { kind: "bool", value: true },
    });
  });

  it("keep the last of two values under one key, on both sides", () => {
    const pairs: [HeaderInput, HeaderInput][] = [
      ["k", "first"],
      [header.int8(1), "other kind"],
      ["k", "last"],
    ];
    expect(decodeUserHeaders(encodeUserHeaders(pairs)).text("k")).toBe("last");
    const twice = new Uint8Array(Buffer.concat(["1", "2"].map((value) => encodeUserHeaders({ k: value }))));
    expect(decodeUserHeaders(twice).size).toBe(1);
    expect(decodeUserHeaders(twice).text("k")).toBe("2");
  });

  it("refuse keys and values that their kind can not hold, each with its code", () => {
    expect(codeOf(() => encodeUserHeaders({ "": "v" }))).toBe(4018);
    expect(codeOf(() => encodeUserHeaders({ k: "" }))).toBe(4019);
    expect(codeOf(() => encodeUserHeaders({ k: "v".repeat(256) }))).toBe(4019);
    expect(codeOf(() => encodeUserHeaders([[header.uint8(256), "v"]]))).toBe(4018);
    for (const value of [
      header.int8(128),
      header.uint16(-1),
      header.int32(0.5),
      header.uint64(1n << 64n),
      header.int128(1n << 127n),
    ]) {
      expect(codeOf(() => encodeUserHeaders({ k: value }))).toBe(4019);
    }
  });

  it("refuse a block above its limit", () => {
    const many = Array.from({ length: 400 }, (_, i): [HeaderInput, HeaderInput] => [
      String(i).padStart(20, "k"),
      "v".repeat(250),
    ]);
    expect(codeOf(() => encodeUserHeaders(many))).toBe(4017);
  });

  it("carry a kind they do not know and refuse to type it", () => {
    const headers = decodeUserHeaders(fromHex("02010000006bc80200000001ff"));
    expect(headers.fields()[0]?.value).toEqual({ kind: 200, bytes: Uint8Array.of(1, 255) });
    expect(codeOf(() => headers.get("k"))).toBe(4040);
  });

  it("refuse a value of a wrong size only when it is asked for", () => {
    const headers = decodeUserHeaders(fromHex("02010000006b0601000000ff" + "02010000006c020100000076"));
    expect(headers.text("l")).toBe("v");
    expect(codeOf(() => headers.get("k"))).toBe(4019);
    expect(codeOf(() => [...decodeUserHeaders(fromHex("0601000000ff020100000076"))])).toBe(4018);
  });

  const value = fc.oneof(
    fc.string({ minLength: 1, maxLength: 40, unit: "binary" }),
    fc.boolean(),
    fc.uint8Array({ minLength: 1, maxLength: 255 }),
    fc.integer({ min: -128, max: 127 }).map(header.int8),
    fc.integer().map(header.int32),
    fc.bigInt({ min: -(1n << 127n), max: (1n << 127n) - 1n }).map(header.int128),
    fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map(header.uint64),
    fc.double({ noNaN: true }).map(header.float64),
    fc.float({ noNaN: true }).map(header.float32),
  );

  it("decode to what was encoded", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(value, value), { maxLength: 8 }), (pairs) => {
        const bytes = encodeUserHeaders(pairs);
        const decoded = decodeUserHeaders(bytes);
        expect(toHex(encodeUserHeaders([...decoded]))).toBe(toHex(bytes));
        const last = pairs.at(-1);
        if (last !== undefined)
          expect(encodeUserHeaders([["k", decoded.get(last[0])!]])).toEqual(encodeUserHeaders([["k", last[1]]]));
      }),
    );
  });

  it("of any bytes are headers or a typed error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          for (const pair of decodeUserHeaders(bytes)) expect(pair).toHaveLength(2);
        } catch (error) {
          expect(error).toBeInstanceOf(IggyError);
        }
        expect(() => tryDecodeUserHeaders(bytes)).not.toThrow(WireError);
      }),
    );
  });
});
