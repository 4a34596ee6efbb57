import { describe, expect, it } from "vitest";
import {
  bytes32,
  checked,
  codeOf,
  compareUtf8,
  decode,
  decodeExact,
  empty,
  encode,
  exactly,
  fixedBytes,
  headed,
  IggyError,
  list,
  listToEnd,
  looseBool,
  lossyStr32,
  mapped,
  name,
  oneOf,
  optional,
  prefixed,
  restBytes,
  str8,
  strictBool,
  struct,
  tail,
  u16,
  u32,
  u64,
  u8,
  utf8Length,
  WireError,
} from "../../src/index.js";

const sample = struct("Sample", {
  id: u32,
  title: name,
  tags: list(u8, name),
  extra: optional(strictBool, u64),
  blob: prefixed(struct("Blob", { data: bytes32 })),
});

const refusal = (kind: string): unknown => expect.objectContaining({ name: "WireError", kind });

describe("layout combinators", () => {
  const value = { id: 7, title: "orders ✓", tags: ["a", "bc"], extra: 9n, blob: { data: new Uint8Array([1, 2, 3]) } };

  it("encodes into exactly the computed size and decodes to the same value", () => {
    const bytes = encode(sample, value);
    expect(bytes.length).toBe(sample.size(value));
    expect(decodeExact(sample, bytes)).toEqual(value);
  });

  it("refuses every truncation with a typed error and never reads past the input", () => {
    const bytes = encode(sample, value);
    for (let end = 0; end < bytes.length; end++) {
      expect(() => decode(sample, bytes.subarray(0, end))).toThrow(WireError);
    }
  });

  it("refuses a count that the remaining bytes cannot hold before it builds anything", () => {
    expect(() => decode(list(u32, u64), new Uint8Array([0xff, 0xff, 0xff, 0xff, 1]))).toThrow(/exceeds the remaining/);
  });

  it("gives layout rows, nested ones under their path", () => {
    expect(sample.rows?.().map((row) => row.path)).toEqual(["id", "title", "tags", "extra", "blob"]);
    const outer = struct("Outer", { inner: struct("Inner", { a: u8, b: u16 }), rest: restBytes });
    expect(outer.rows?.()).toEqual([
      { path: "inner.a", type: "u8" },
      { path: "inner.b", type: "u16" },
      { path: "rest", type: "bytes to end" },
    ]);
    expect(empty.rows?.()).toEqual([]);
  });

  it("keeps one error tree", () => {
    const error = new WireError("Validation", "x");
    expect(error).toBeInstanceOf(IggyError);
    expect(error.code).toBe(3);
    expect(new Error("plain")).not.toBeInstanceOf(WireError);
    expect(new IggyError(3)).not.toBeInstanceOf(WireError);
  });
});

describe("numbers", () => {
  it.each([
    [u8, 256],
    [u8, -1],
    [u16, 65_536],
    [u32, 4_294_967_296],
    [u32, 1.5],
    [u32, Number.NaN],
  ])("%# refuses %d, which its width does not hold", (layout, value) => {
    expect(() => encode(layout, value)).toThrow(refusal("Validation"));
  });

  it("refuses wide numbers beyond their width", () => {
    expect(() => encode(u64, 1n << 64n)).toThrow(refusal("Validation"));
    expect(() => encode(u64, -1n)).toThrow(refusal("Validation"));
  });
});

describe("booleans", () => {
  it("reads any byte but 0 as true where a layout is loose, and 0 or 1 only where it is strict", () => {
    expect(decode(looseBool, Uint8Array.of(7))).toBe(true);
    expect(() => decode(strictBool, Uint8Array.of(2))).toThrow(refusal("UnknownDiscriminant"));
  });
});

describe("codes", () => {
  const level = codeOf("level", u8, { low: 1, high: 9 });
  const known = oneOf("code", u8, [1, 9]);

  it("reads a code as its name and refuses others", () => {
    expect(decode(level, Uint8Array.of(9))).toBe("high");
    expect(encode(level, "low")).toEqual(Uint8Array.of(1));
    expect(() => decode(level, Uint8Array.of(2))).toThrow(refusal("UnknownDiscriminant"));
  });

  it("keeps a known code as a number, on both sides", () => {
    expect(decode(known, Uint8Array.of(9))).toBe(9);
    expect(() => decode(known, Uint8Array.of(2))).toThrow(refusal("UnknownDiscriminant"));
    expect(() => encode(known, 2)).toThrow(refusal("UnknownDiscriminant"));
  });
});

describe("a header with its items", () => {
  const group = headed("group", "head", struct("head", { count: u8, tag: u8 }), "count", "items", u16);

  it("takes as many items as the header says", () => {
    const value = { head: { count: 2, tag: 5 }, items: [1, 2] };
    expect(encode(group, value)).toEqual(Uint8Array.of(2, 5, 1, 0, 2, 0));
    expect(decodeExact(group, Uint8Array.of(2, 5, 1, 0, 2, 0))).toEqual(value);
  });

  it("refuses to write another number of items than the header says", () => {
    expect(() => encode(group, { head: { count: 1, tag: 5 }, items: [1, 2] })).toThrow(refusal("Validation"));
  });

  it("refuses a count that the remaining bytes can not hold", () => {
    expect(() => decode(group, Uint8Array.of(200, 5, 1, 0))).toThrow(refusal("UnexpectedEof"));
  });

  it("shows the count that its items follow", () => {
    expect(group.rows?.().at(-1)).toEqual({ path: "items", type: "u16 × head.count" });
  });
});

describe("rules", () => {
  const even = checked(u8, (value) => (value % 2 === 0 ? undefined : "is odd"));

  it("hold on both sides", () => {
    expect(() => encode(even, 3)).toThrow(refusal("Validation"));
    expect(() => decode(even, Uint8Array.of(3))).toThrow(/is odd/);
    expect(decode(even, Uint8Array.of(4))).toBe(4);
  });

  it("tell where the value starts", () => {
    expect(() => decode(struct("pair", { a: u32, b: even }), Uint8Array.of(0, 0, 0, 0, 3))).toThrow(
      expect.objectContaining({ offset: 4 }),
    );
  });
});

describe("the end of the input", () => {
  it("may miss a field that earlier writers did not have", () => {
    const layout = struct("stats", { a: u8, b: tail(u16, 0) });
    expect(decode(layout, Uint8Array.of(1))).toEqual({ a: 1, b: 0 });
    expect(decode(layout, Uint8Array.of(1, 2, 0))).toEqual({ a: 1, b: 2 });
    expect(() => decode(layout, Uint8Array.of(1, 2))).toThrow(refusal("UnexpectedEof"));
    expect(encode(layout, { a: 1, b: 0 })).toHaveLength(3);
  });

  it("is where an exact layout ends", () => {
    expect(decode(exactly(u8), Uint8Array.of(1))).toBe(1);
    expect(() => decode(exactly(u8), Uint8Array.of(1, 2))).toThrow(refusal("TrailingBytes"));
    expect(() => decode(prefixed(u8), Uint8Array.of(2, 0, 0, 0, 1, 2))).toThrow(refusal("TrailingBytes"));
  });

  it("ends a run of items", () => {
    expect(decode(listToEnd(u16), Uint8Array.of(1, 0, 2, 0))).toEqual([1, 2]);
    expect(() => decode(listToEnd(u16), Uint8Array.of(1, 0, 2))).toThrow(refusal("UnexpectedEof"));
  });
});

describe("lists", () => {
  it("keep their bounds on both sides", () => {
    const some = list(u8, u8, { min: 1, max: 2 });
    for (const items of [[], [1, 2, 3]]) {
      expect(() => encode(some, items)).toThrow(refusal("Validation"));
      expect(() => decode(some, Uint8Array.of(items.length, ...items))).toThrow(refusal("Validation"));
    }
  });
});

describe("texts", () => {
  it("count their bytes, not their letters", () => {
    expect(() => encode(name, "")).toThrow(refusal("Validation"));
    expect(() => encode(name, "é".repeat(128))).toThrow(refusal("Validation"));
    expect(encode(name, "é".repeat(127))).toHaveLength(255);
    expect(encode(str8, "")).toEqual(Uint8Array.of(0));
  });

  it("refuse bytes that are no UTF-8, unless they are for people only", () => {
    const bytes = Uint8Array.of(2, 0, 0, 0, 0x61, 0xff);
    expect(() => decode(name, Uint8Array.of(2, 0x61, 0xff))).toThrow(refusal("InvalidUtf8"));
    expect(decode(lossyStr32, bytes)).toBe("a\ufffd");
  });

  it("keep a byte order mark", () => {
    expect(decode(name, encode(name, "\ufeffx"))).toBe("\ufeffx");
  });

  it("write a lone surrogate as the replacement character, in the size that was computed", () => {
    const text = "a\ud83d";
    expect(utf8Length(text)).toBe(4);
    expect(decode(name, encode(name, text))).toBe("a\ufffd");
  });

  it("sort by their bytes", () => {
    const texts = ["\u{1f600}", "\uff5e", "z", "é", "za", ""];
    const byBytes = [...texts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect([...texts].sort(compareUtf8)).toEqual(byBytes);
  });
});

describe("fixed bytes", () => {
  it("are refused in another length", () => {
    expect(() => encode(fixedBytes(3), new Uint8Array(2))).toThrow(refusal("Validation"));
    expect(decode(fixedBytes(3), Uint8Array.of(1, 2, 3, 4))).toEqual(Uint8Array.of(1, 2, 3));
  });
});

describe("the same bytes under another type", () => {
  it("may be refused by what they mean", () => {
    const positive = mapped(
      u8,
      (value, offset) => {
        if (value === 0) throw new WireError("Validation", "is zero", offset);
        return { value };
      },
      ({ value }) => value,
      () => ({ value: 1 }),
    );
    expect(decode(positive, Uint8Array.of(5))).toEqual({ value: 5 });
    expect(() => decode(struct("pair", { a: u8, b: positive }), Uint8Array.of(1, 0))).toThrow(
      expect.objectContaining({ offset: 1 }),
    );
  });
});
