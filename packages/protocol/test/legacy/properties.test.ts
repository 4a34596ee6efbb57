import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Codec, decode, decodeExact, encode, WireError } from "../../src/index.js";
import * as legacy from "../../src/legacy/index.js";
import { samples } from "../random-sample.js";

const isCodec = (value: unknown): value is Codec<unknown> =>
  typeof value === "object" && value !== null && "minSize" in value && "sample" in value;

/** Layouts that are of the earlier protocols alone. */
const layouts: readonly (readonly [string, Codec<unknown>])[] = [
  ...Object.entries<unknown>(legacy).flatMap(([name, value]): [string, Codec<unknown>][] =>
    isCodec(value) ? [[name, value]] : [],
  ),
  ...[legacy.waitForMessages, ...legacy.legacyCommands].flatMap(
    ({ title, request, response }): [string, Codec<unknown>][] => [
      [`${title} request`, request],
      [`${title} reply`, response],
    ],
  ),
];

const settles = (read: () => unknown): void => {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(WireError);
  }
};

describe.each(layouts)("%s", (_, layout) => {
  it("reads back what it writes", () => {
    fc.assert(
      fc.property(samples, (source) => {
        const value = layout.sample(source);
        const bytes = encode(layout, value);
        expect(bytes).toHaveLength(layout.size(value));
        expect(decodeExact(layout, bytes)).toEqual(value);
      }),
      { numRuns: 30 },
    );
  });

  it("gives a value or a wire error for any bytes, and for its own bytes cut or changed", () => {
    fc.assert(
      fc.property(samples, fc.uint8Array({ maxLength: 80 }), fc.nat(), fc.nat(255), (source, any, at, byte) => {
        settles(() => decode(layout, any));
        const bytes = encode(layout, layout.sample(source));
        settles(() => decode(layout, bytes.subarray(0, at % (bytes.length + 1))));
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        settles(() => decode(layout, bytes));
      }),
      { numRuns: 30 },
    );
  });
});

describe("logins of 0.11", () => {
  it("of any bytes are a reading or a wire error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        settles(() => legacy.decodeLegacyLogin(bytes));
      }),
    );
  });
});
