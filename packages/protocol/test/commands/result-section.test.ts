import { describe, expect, it } from "vitest";
import { decodeResult, encodeResult, ErrorCode, errorName, WireError } from "../../src/index.js";
import { bytesOf, hexOf, textOf, vectors } from "../golden-layouts.js";

describe("result sections", () => {
  for (const entry of vectors("responses")["result_sections"] ?? []) {
    const hex = textOf(entry, "hex");
    if (entry["malformed"] === true) {
      it(`refuses ${textOf(entry, "name")} and never reads it as success`, () => {
        expect(() => decodeResult(bytesOf(hex))).toThrow(WireError);
        expect(() => decodeResult(bytesOf(hex))).toThrow(expect.objectContaining({ code: 3 }));
      });
      continue;
    }
    it(textOf(entry, "name"), () => {
      const code = Number(entry["result_code"]);
      const payload = textOf(entry, "payload_hex");
      const result = decodeResult(bytesOf(hex));
      expect({ code: result.code, payload: hexOf(result.payload) }).toEqual({ code, payload });
      expect(hexOf(encodeResult(code, bytesOf(payload)))).toBe(hex);
      if (code !== 0) expect(errorName(code)).toBe(entry["error"]);
    });
  }

  it("takes the first entry of several, and the payload behind all of them", () => {
    const body = bytesOf("02000000" + "00000000f1030000" + "0100000003000000" + "aabb");
    expect(decodeResult(body)).toEqual({ code: ErrorCode.StreamIdNotFound, payload: bytesOf("aabb") });
  });

  it("refuses an entry without an error: it proves neither success nor refusal", () => {
    expect(() => decodeResult(bytesOf("01000000" + "0000000000000000"))).toThrow(WireError);
  });

  it("refuses a count that no body could hold", () => {
    expect(() => decodeResult(bytesOf("ffffffff" + "0000000003000000"))).toThrow(WireError);
  });
});
