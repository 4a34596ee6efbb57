import { describe, expect, it } from "vitest";
import {
  ALL_GROUPS_MASK,
  checkMetadataChangesRequest,
  cursorText,
  decode,
  decodeChange,
  decodeExact,
  decodeItem,
  encode,
  encodeChange,
  encodeItem,
  groupMaskBit,
  groupsMask,
  IggyError,
  metadataChangeCode,
  metadataChangeNames,
  metadataCursor,
  MetadataGroup,
  metadataGroupInfo,
  metadataGroupName,
  type MetadataChangesRequest,
  MetadataStatus,
  pageToken,
  pageTokenText,
  parseCursor,
  parsePageToken,
} from "../../src/index.js";
import { loadVectors } from "../golden.js";
import {
  bytesOf,
  expectGolden,
  expectRefused,
  fieldsOf,
  hexOf,
  type Json,
  plain,
  textOf,
  vectors,
} from "../golden-layouts.js";

const golden = vectors("metadata_changes");
const { statuses } = loadVectors<{ statuses: string[] }>("metadata_changes");

const pascal = (name: string): string =>
  name.replace(/(^|_)([a-z])/g, (_, _start: string, letter: string) => letter.toUpperCase());

const codesOf = (entry: { [key: string]: Json }): { group: number; kind: number } => ({
  group: Number(entry["group"]),
  kind: Number(entry["kind"]),
});

describe("tables of the change log", () => {
  it("has the kinds with their groups", () => {
    expect(
      metadataChangeNames.map((name) => {
        const layout = golden["changes"]?.find(({ kind }) => kind === metadataChangeCode(name));
        return { code: metadataChangeCode(name), name: pascal(name), group: layout?.["group"] };
      }),
    ).toEqual(golden["kinds"]);
  });

  it("has the groups with their mask bits", () => {
    expect(
      Object.entries(MetadataGroup).map(([name, code]) => ({ code, name: pascal(name), mask_bit: groupMaskBit(code) })),
    ).toEqual(golden["groups"]);
    expect(groupsMask([])).toBe(ALL_GROUPS_MASK);
    expect(groupsMask([1, 3])).toBe(0b101);
  });

  it("keeps busy groups in a class of their own", () => {
    const activity = Object.values(MetadataGroup).filter((code) => metadataGroupInfo(code)?.retention === "activity");
    expect(activity).toEqual([MetadataGroup.consumer_group_members, MetadataGroup.sessions]);
  });

  it("has the statuses", () => {
    expect(Object.entries(MetadataStatus).map(([name, code]) => `${pascal(name)}=${String(code)}`)).toEqual(statuses);
  });
});

describe("golden changes", () => {
  for (const entry of golden["changes"] ?? []) {
    it(textOf(entry, "name"), () => {
      const hex = textOf(entry, "hex");
      const change = decodeChange({ ...codesOf(entry), body: bytesOf(hex) });
      expect(change).toBeDefined();
      if (change === undefined) return;
      expect(pascal(change.kind)).toBe(entry["kind_name"]);
      expect(plain(change.body)).toEqual(fieldsOf(entry["fields"] ?? null));
      const encoded = encodeChange(change.kind, change.body);
      expect({ ...encoded, body: hexOf(encoded.body) }).toEqual({ ...codesOf(entry), body: hex });
    });
  }

  for (const entry of golden["negative"] ?? []) {
    const record = { ...codesOf(entry), body: bytesOf(textOf(entry, "hex")) };
    const error = entry["error"] as { kind: string } | null;
    if (error === null) {
      it(`keeps group ${String(record.group)} kind ${String(record.kind)} as bytes`, () => {
        expect(decodeChange(record)).toBeUndefined();
      });
    } else {
      it(`refuses ${textOf(entry, "name")}`, () => {
        expectRefused(() => decodeChange(record), error.kind);
      });
    }
  }
});

describe("golden items", () => {
  for (const entry of golden["current_items"] ?? []) {
    it(textOf(entry, "name"), () => {
      const hex = textOf(entry, "hex");
      const group = Number(entry["group"]);
      const item = decodeItem({ group, body: bytesOf(hex) });
      expect(item?.group).toBe(metadataGroupName(group));
      if (item === undefined) return;
      expect(plain(item.body)).toEqual(fieldsOf(entry["fields"] ?? null));
      expect(hexOf(encodeItem(item.group, item.body).body)).toBe(hex);
    });
  }

  it("keeps an item of an unknown group as bytes", () => {
    expect(decodeItem({ group: 9, body: Uint8Array.of(1) })).toBeUndefined();
  });
});

describe("cursors and page tokens", () => {
  for (const entry of golden["cursors"] ?? []) {
    it(`cursor ${textOf(entry, "name")}`, () => {
      const hex = textOf(entry, "hex");
      expectGolden(metadataCursor, hex, fieldsOf(entry["fields"] ?? null));
      const cursor = decode(metadataCursor, bytesOf(hex));
      const text = cursorText(cursor);
      expect(text).toBe(`mc1_${Buffer.from(hex, "hex").toString("base64url")}`);
      expect(text).toHaveLength(63);
      expect(parseCursor(text)).toEqual(cursor);
    });
  }

  for (const entry of golden["page_tokens"] ?? []) {
    it(`page token ${textOf(entry, "name")}`, () => {
      const hex = textOf(entry, "hex");
      expectGolden(pageToken, hex, fieldsOf(entry["fields"] ?? null));
      const token = decodeExact(pageToken, bytesOf(hex));
      expect(parsePageToken(pageTokenText(token))).toEqual(token);
      expectRefused(() => decode(pageToken, bytesOf(`${hex}00`)), "Validation");
    });
  }

  it.each(["", "mc1_", "mc1_AAAA", `cs1_${"A".repeat(59)}`, `mc1_${"A".repeat(58)}B`, `mc1_${"A".repeat(59)}=`])(
    "refuses the cursor text %s",
    (text) => {
      expect(() => parseCursor(text)).toThrow(expect.objectContaining({ code: 3 }));
    },
  );

  it("refuses a cursor text of another spelling of the same bytes", () => {
    const text = cursorText({ logId: 1n, op: 2n, checksum: 3n, ordinal: 4 });
    const last = text.slice(-1);
    const bumped = String.fromCharCode(last.charCodeAt(0) + 1);
    expect(() => parseCursor(text.slice(0, -1) + bumped)).toThrow(IggyError);
  });
});

describe("rules of a request", () => {
  const request: MetadataChangesRequest = {
    start: { mode: "earliest" },
    since: null,
    until: null,
    limit: 100,
    groups: [],
  };
  const token = {
    anchor: { logId: 1n, op: 5n, checksum: 2n, ordinal: 0 },
    requiredHead: 5n,
    groupsMask: 0b11,
    group: 1,
    lastKey: Uint8Array.of(1, 0, 0, 0),
  };

  it.each<[string, Partial<MetadataChangesRequest>]>([
    ["a plain read", {}],
    ["a time range", { since: 1n, until: 1n }],
    ["a scan with parents", { start: { mode: "current", token: null }, groups: [2, 1] }],
    ["a next page of the same groups", { start: { mode: "current", token }, groups: [1, 2, 2] }],
  ])("admits %s", (_, change) => {
    expect(() => checkMetadataChangesRequest({ ...request, ...change })).not.toThrow();
  });

  it.each<[string, Partial<MetadataChangesRequest>]>([
    ["no records", { limit: 0 }],
    ["more than a thousand records", { limit: 1001 }],
    ["a range backwards", { since: 2n, until: 1n }],
    ["a range with latest", { start: { mode: "latest" }, since: 1n }],
    ["a range with current", { start: { mode: "current", token: null }, until: 1n }],
    ["an unknown group", { groups: [9] }],
    ["a scan without parents", { start: { mode: "current", token: null }, groups: [2] }],
    ["a token of other groups", { start: { mode: "current", token }, groups: [1] }],
    [
      "a cursor at op 0 with an ordinal",
      { start: { mode: "after", cursor: { logId: 1n, op: 0n, checksum: 0n, ordinal: 1 } } },
    ],
  ])("refuses %s", (_, change) => {
    expect(() => checkMetadataChangesRequest({ ...request, ...change })).toThrow(expect.objectContaining({ code: 3 }));
  });

  it("writes no cursor that it would not read", () => {
    expect(() => encode(metadataCursor, { logId: 0n, op: 0n, checksum: 1n, ordinal: 0 })).toThrow(IggyError);
  });
});
