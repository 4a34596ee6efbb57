import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  byteSizeJson,
  decodeBase64,
  decodeBase64Url,
  encodeBase64,
  encodeBase64Url,
  formatByteSize,
  formatDuration,
  formatExpiry,
  formatTimestamp,
  formatTopicSize,
  identifierFromJson,
  type IdentifierJson,
  identifierText,
  identifierToJson,
  IggyError,
  parseByteSize,
  parseDuration,
  parseExpiry,
  parseIdentifier,
  parseTopicSize,
  timestampRfc3339,
  U64_MAX,
} from "../../src/index.js";
import { loadVectors } from "../golden.js";

interface Vectors {
  readonly byte_sizes: {
    bytes: string;
    json: string;
    display: string;
    human_zero_unlimited: string;
    json_reads_back_as: string;
  }[];
  readonly byte_size_texts: { text: string; bytes: string; refused: boolean }[];
  readonly max_topic_sizes: { value: string; display: string }[];
  readonly durations: { micros: string; display: string }[];
  readonly duration_texts: { text: string; micros: string; refused: boolean }[];
  readonly expiries: { value: string; display: string }[];
  readonly expiry_texts: { text: string; value: string; refused: boolean }[];
  readonly timestamps: { micros: string; display: string; rfc3339: string }[];
  readonly identifier_texts: {
    text: string;
    kind: string | null;
    json: string | null;
    error: { code: number } | null;
  }[];
}

const golden = loadVectors<Vectors>("text_forms");

function expectText(parse: (text: string) => bigint, text: string, value: string | null, refused: boolean): void {
  if (refused) expect(() => parse(text)).toThrow(IggyError);
  else expect(String(parse(text))).toBe(value);
}

describe("byte sizes", () => {
  it.each(golden.byte_sizes)("$bytes bytes", ({ bytes, json, display, json_reads_back_as }) => {
    expect(formatByteSize(BigInt(bytes))).toBe(display);
    expect(JSON.stringify(byteSizeJson(BigInt(bytes)))).toBe(json);
    expect(String(parseByteSize(JSON.parse(json) as string))).toBe(json_reads_back_as);
  });

  it.each(golden.byte_size_texts)('"$text"', ({ text, bytes, refused }) => {
    expectText(parseByteSize, text, bytes, refused);
  });

  it.each(["1 kB", "15M", "2 gib", "0.5 KiB"])("takes the prefix in either case, in %s", (text) => {
    expect(parseByteSize(text)).toBe({ "1 kB": 1000n, "15M": 15_000_000n, "2 gib": 268435456n, "0.5 KiB": 512n }[text]);
  });

  it.each(["1 iB", "1 KIB", "1 kBit", "1 Xb", "1.", ".5 KB", "1 KB ", "20 EB", "1e3"])("refuses %s", (text) => {
    expect(() => parseByteSize(text)).toThrow(IggyError);
  });

  it("reads every exact JSON form back", () => {
    fc.assert(fc.property(fc.bigInt(0n, U64_MAX), (bytes) => parseByteSize(byteSizeJson(bytes)) === bytes));
  });
});

describe("topic sizes", () => {
  it.each(golden.max_topic_sizes)("$value bytes", ({ value, display }) => {
    expect(formatTopicSize(BigInt(value))).toBe(display);
  });

  it("keeps unlimited apart from the words for the default", () => {
    expect(parseTopicSize("unlimited")).toBe(U64_MAX);
    for (const text of ["server_default", "0", "none", "Unlimited", "None"]) expect(parseTopicSize(text)).toBe(0n);
    expect(parseTopicSize("10 GiB")).toBe(10_737_418_240n);
    expect(() => parseTopicSize("default")).toThrow(IggyError);
  });
});

describe("durations", () => {
  it.each(golden.durations)("$micros µs", ({ micros, display }) => {
    expect(formatDuration(BigInt(micros))).toBe(display);
  });

  it.each(golden.duration_texts)('"$text"', ({ text, micros, refused }) => {
    expectText(parseDuration, text, micros, refused);
  });

  it("tells minutes from months and cuts parts below a microsecond", () => {
    expect(parseDuration("1m")).toBe(60_000_000n);
    expect(parseDuration("1M")).toBe(2_630_016_000_000n);
    expect(parseDuration("1999ns")).toBe(1n);
    expect(parseDuration(" 4.2s  1 ms ")).toBe(4_201_000n);
    expect(() => parseDuration("1H")).toThrow(IggyError);
    expect(() => parseDuration("584943 years")).toThrow(IggyError);
  });

  it("reads its own text back", () => {
    fc.assert(fc.property(fc.bigInt(0n, U64_MAX), (micros) => parseDuration(formatDuration(micros)) === micros));
  });
});

describe("expiries", () => {
  it.each(golden.expiries)("$value µs", ({ value, display }) => {
    expect(formatExpiry(BigInt(value))).toBe(display);
  });

  it.each(golden.expiry_texts)('"$text"', ({ text, value, refused }) => {
    expectText(parseExpiry, text, value, refused);
  });
});

describe("timestamps", () => {
  it.each(golden.timestamps)("$micros µs", ({ micros, display, rfc3339 }) => {
    expect(formatTimestamp(BigInt(micros))).toBe(display);
    expect(timestampRfc3339(BigInt(micros))).toBe(rfc3339);
  });

  it("refuses what is no date", () => {
    expect(() => formatTimestamp(U64_MAX)).toThrow(/no date/);
  });
});

describe("identifiers", () => {
  it.each(golden.identifier_texts)('"$text"', ({ text, kind, json, error }) => {
    const spelled = text === "256 x characters" ? "x".repeat(256) : text;
    if (error !== null) {
      expect(() => parseIdentifier(spelled)).toThrow(expect.objectContaining({ code: error.code }));
      return;
    }
    const id = parseIdentifier(spelled);
    expect(id.kind).toBe(kind);
    expect(identifierText(id)).toBe(spelled);
    expect(JSON.stringify(identifierToJson(id))).toBe(json);
    expect(identifierFromJson(JSON.parse(json ?? "") as IdentifierJson)).toEqual(id);
  });

  it("refuses JSON values that are no identifier", () => {
    for (const value of ["", "AA", "AAAAAAA=", "!"]) {
      expect(() => identifierFromJson({ kind: "numeric", value })).toThrow(IggyError);
    }
    expect(() => identifierFromJson({ kind: "string", value: "" })).toThrow(IggyError);
  });
});

describe("base64", () => {
  it("agrees with the runtime's encoder and refuses what it would not write", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = Buffer.from(bytes).toString("base64");
        expect(encodeBase64(bytes)).toBe(text);
        expect(decodeBase64(text)).toEqual(bytes);
        expect(encodeBase64Url(bytes)).toBe(Buffer.from(bytes).toString("base64url"));
        expect(decodeBase64Url(encodeBase64Url(bytes))).toEqual(bytes);
      }),
    );
    for (const text of ["AA", "AB==", "A===", "AA-_", "AA\n=", "====", "A"]) expect(decodeBase64(text)).toBeUndefined();
    for (const text of ["A", "AB", "AA==", "AA+/"]) expect(decodeBase64Url(text)).toBeUndefined();
  });

  it("gives bytes or nothing for any text, and only for text that the bytes give back", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const bytes = decodeBase64(text);
        expect(bytes === undefined || encodeBase64(bytes) === text).toBe(true);
      }),
    );
  });
});
