import { describe, expect, it } from "vitest";
import {
  type Codec,
  createPartitionsWithAssignments,
  createTopicWithAssignments,
  decode,
  decodeExact,
  encode,
  finalizeSession,
  installConsumerGroupOwner,
  memberLists,
  preparedStoreConsumerOffset,
  registerRequest,
  retireConsumerGroupOwners,
  retireSessions,
  retiresGroup,
  rewrapStreamKeys,
  storeConsumerOffset,
  transitionPartitionHistory,
  truncatePartition,
  updateStreamResolved,
  updateTopicResolved,
  updateUserResolved,
  WireError,
} from "../../src/index.js";
import {
  bytesOf,
  expectGolden,
  expectRefused,
  fieldsOf,
  hexOf,
  type Json,
  type JsonObject,
  textOf,
  vectors,
} from "../golden-layouts.js";

const golden = vectors("internal");

const layouts: Readonly<Record<string, Codec<unknown>>> = {
  RegisterRequest: registerRequest,
  CreateTopicWithAssignments: createTopicWithAssignments,
  CreatePartitionsWithAssignments: createPartitionsWithAssignments,
  UpdateStreamResolved: updateStreamResolved,
  UpdateTopicResolved: updateTopicResolved,
  UpdateUserResolved: updateUserResolved,
  RewrapStreamKeys: rewrapStreamKeys,
  FinalizeSession: finalizeSession,
  RetireSessions: retireSessions,
  InstallConsumerGroupOwner: installConsumerGroupOwner,
  TransitionPartitionHistory: transitionPartitionHistory,
  RetireConsumerGroupOwners: retireConsumerGroupOwners,
};

function layoutOf(type: string): Codec<unknown> {
  const layout = layouts[type];
  if (layout === undefined) throw new Error(`no layout ${type}`);
  return layout;
}

const fields = (entry: JsonObject): Json => {
  const rest = fieldsOf(entry["fields"] ?? null) as JsonObject;
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith("retires")));
};

describe("golden bodies of internal operations", () => {
  for (const entry of golden["cases"] ?? []) {
    const type = textOf(entry, "type");
    if (type === "PreparedStoreConsumerOffset") continue;
    it(`${type} ${textOf(entry, "name")}`, () => {
      expectGolden(layoutOf(type), textOf(entry, "hex"), fields(entry));
    });
  }

  for (const entry of golden["negative"] ?? []) {
    it(`refuses ${textOf(entry, "type")} ${textOf(entry, "name")}`, () => {
      const { kind } = entry["error"] as { kind: string };
      expectRefused(() => decode(layoutOf(textOf(entry, "type")), bytesOf(textOf(entry, "hex"))), kind);
    });
  }

  it("splits the owner generation off a prepared offset write", () => {
    const entry = golden["cases"]?.find(({ type }) => type === "PreparedStoreConsumerOffset") ?? {};
    const { request_hex, owner_generation } = entry["fields"] as { request_hex: string; owner_generation: string };
    const prepared = decodeExact(preparedStoreConsumerOffset, bytesOf(textOf(entry, "hex")));
    expect(String(prepared.ownerGeneration)).toBe(owner_generation);
    expect(hexOf(encode(storeConsumerOffset.request, prepared.request))).toBe(request_hex);
    expect(() => decode(preparedStoreConsumerOffset, bytesOf(request_hex))).toThrow(WireError);
  });

  it("says which groups a catalogue retires", () => {
    for (const entry of golden["cases"] ?? []) {
      const { retires_of_0_to_7: retired } = entry["fields"] as { retires_of_0_to_7?: number[] };
      if (retired === undefined) continue;
      const catalogue = decode(retireConsumerGroupOwners, bytesOf(textOf(entry, "hex")));
      expect([0, 1, 2, 3, 4, 5, 6, 7].filter((id) => retiresGroup(catalogue, BigInt(id)))).toEqual(retired);
    }
  });

  it("refuses bytes behind every body", () => {
    for (const entry of golden["cases"] ?? []) {
      const layout = layouts[textOf(entry, "type")];
      if (layout === undefined) continue;
      expect(() => decode(layout, bytesOf(`${textOf(entry, "hex")}01`))).toThrow(WireError);
    }
  });
});

describe("member lists", () => {
  it("writes the size once and nothing without members", () => {
    expect(
      hexOf(
        encode(memberLists(2), [
          [0, 1],
          [1, 0],
        ]),
      ),
    ).toBe("0200010100");
    expect(encode(memberLists(2), [[], []])).toHaveLength(0);
    expect(decode(memberLists(2), new Uint8Array(0))).toEqual([[], []]);
  });

  it("refuses lists of different lengths, an empty section and a cut one", () => {
    expect(() => encode(memberLists(2), [[0], []])).toThrow(WireError);
    expect(() => encode(memberLists(2), [[], [0]])).toThrow(WireError);
    expect(() => decode(memberLists(2), Uint8Array.of(0))).toThrow(WireError);
    expect(() => decode(memberLists(2), Uint8Array.of(2, 0, 1, 1))).toThrow(WireError);
  });
});

describe("a truncation", () => {
  it("names the partition by its revision", () => {
    const body = {
      streamId: { kind: "numeric" as const, value: 1 },
      topicId: { kind: "string" as const, value: "t" },
      partitionId: 3,
      createdRevision: 41n,
      upToOffset: 99n,
    };
    const hex = "010401000000" + "020174" + "03000000" + "2900000000000000" + "6300000000000000";
    expect(hexOf(encode(truncatePartition, body))).toBe(hex);
    expect(decode(truncatePartition, bytesOf(hex))).toEqual(body);
  });
});
