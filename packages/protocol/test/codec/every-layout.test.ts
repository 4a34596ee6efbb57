import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as protocol from "../../src/index.js";
import {
  type Codec,
  commands,
  decode,
  decodeExact,
  decodeRequest,
  encode,
  metadataChangeLayout,
  metadataChangeNames,
  metadataItemLayout,
  MetadataGroup,
  type MetadataGroupName,
  WireError,
} from "../../src/index.js";
import { samples } from "../random-sample.js";

function isCodec(value: unknown): value is Codec<unknown> {
  return typeof value === "object" && value !== null && "minSize" in value && "sample" in value && "read" in value;
}

/** Every layout that the package exports, and those that its tables hold. */
const layouts: readonly (readonly [string, Codec<unknown>])[] = [
  ...Object.entries<unknown>(protocol).flatMap(([name, value]): [string, Codec<unknown>][] =>
    isCodec(value) ? [[name, value]] : [],
  ),
  ...commands.flatMap((command): [string, Codec<unknown>][] => [
    [`${command.title} request`, command.request],
    [`${command.title} reply`, command.response],
  ]),
  ...metadataChangeNames.map((name): [string, Codec<unknown>] => [name, metadataChangeLayout(name)]),
  ...(Object.keys(MetadataGroup) as MetadataGroupName[]).map((group): [string, Codec<unknown>] => [
    `current ${group}`,
    metadataItemLayout(group),
  ]),
];

function expectOnlyWireErrors(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}

/** Values built while reading: a count in a few bytes must not make thousands of them. */
function countValues(value: unknown): number {
  if (value instanceof Uint8Array || typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, entry) => sum + countValues(entry), 1);
}

describe.each(layouts)("%s", (_, layout) => {
  it("reads back what it writes, in exactly the size that it computed", () => {
    fc.assert(
      fc.property(samples, (source) => {
        const value = layout.sample(source);
        const bytes = encode(layout, value);
        expect(bytes.length).toBe(layout.size(value));
        expect(bytes.length).toBeGreaterThanOrEqual(layout.minSize);
        expect(decodeExact(layout, bytes)).toEqual(value);
      }),
      { numRuns: 60 },
    );
  });

  it("gives a value or a wire error for any bytes, and builds no more than they justify", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        expectOnlyWireErrors(() => {
          const value = decode(layout, bytes);
          expect(countValues(value)).toBeLessThanOrEqual(64 + 8 * bytes.length);
        });
      }),
      { numRuns: 60 },
    );
  });

  it("gives a value or a wire error for its own bytes, cut or changed", () => {
    fc.assert(
      fc.property(samples, fc.nat(), fc.integer({ min: 0, max: 255 }), (source, at, byte) => {
        const bytes = encode(layout, layout.sample(source));
        expectOnlyWireErrors(() => decode(layout, bytes.subarray(0, at % (bytes.length + 1))));
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        expectOnlyWireErrors(() => decode(layout, bytes));
      }),
      { numRuns: 60 },
    );
  });
});

describe("bytes behind a request", () => {
  it.each(commands)("$title refuses or ignores them as declared", (command) => {
    fc.assert(
      fc.property(samples, (source) => {
        const bytes = encode(command.request, command.request.sample(source));
        const longer = new Uint8Array([...bytes, 0]);
        if (command.exact) expect(() => decodeRequest(command, longer)).toThrow(WireError);
        else expectOnlyWireErrors(() => decodeRequest(command, longer));
      }),
      { numRuns: 10 },
    );
  });
});

describe("views", () => {
  it("stay inside the bytes that were given", () => {
    // The input sits inside a larger buffer whose other bytes must never be read.
    fc.assert(
      fc.property(samples, (source) => {
        for (const command of commands) {
          const value = command.request.sample(source);
          const bytes = encode(command.request, value);
          const around = new Uint8Array(bytes.length + 32).fill(0xee);
          around.set(bytes, 16);
          expect(decode(command.request, around.subarray(16, 16 + bytes.length))).toEqual(value);
        }
      }),
      { numRuns: 20 },
    );
  });
});
