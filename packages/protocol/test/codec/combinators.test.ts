import { describe, expect, it } from "vitest";
import {
  bytes32,
  decode,
  decodeExact,
  encode,
  list,
  name,
  optional,
  prefixed,
  strictBool,
  struct,
  u32,
  u64,
  u8,
  WireError,
} from "../../src/codec/index.js";
import { IggyError } from "../../src/index.js";

const sample = struct("Sample", {
  id: u32,
  title: name,
  tags: list(u8, name),
  extra: optional(strictBool, u64),
  blob: prefixed(struct("Blob", { data: bytes32 })),
});

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

  it("gives layout rows", () => {
    expect(sample.rows?.().map((row) => row.path)).toEqual(["id", "title", "tags", "extra", "blob"]);
  });

  it("keeps one error tree", () => {
    const error = new WireError("Validation", "x");
    expect(error).toBeInstanceOf(IggyError);
    expect(error.code).toBe(3);
    expect(new Error("plain")).not.toBeInstanceOf(WireError);
    expect(new IggyError(3)).not.toBeInstanceOf(WireError);
  });
});
