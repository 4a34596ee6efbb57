import { IggyError } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { consumerOf, deferredPollQuery, pollQuery, strategyOf, waitOf } from "../../../src/http/messages/poll-query.js";

const queryOf = (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text));
const poll = (text: string): ReturnType<typeof pollQuery.read> => pollQuery.read(queryOf(text));
const wait = (text: string): ReturnType<typeof waitOf> => waitOf(deferredPollQuery.read(queryOf(text)));

function codeOf(run: () => unknown): number {
  try {
    run();
  } catch (error) {
    if (error instanceof IggyError) return error.code;
    throw error;
  }
  return 0;
}

describe("the query of a poll", () => {
  it("has a default for every key", () => {
    expect(poll("")).toEqual({
      consumer_kind: "consumer",
      consumer_id: { kind: "numeric", value: 1 },
      partition_id: 0,
      kind: "offset",
      value: 0n,
      context: null,
      count: 10,
      auto_commit: false,
    });
  });

  it.each([
    ["offset", "offset"],
    ["o", "offset"],
    ["timestamp", "timestamp"],
    ["t", "timestamp"],
    ["first", "first"],
    ["f", "first"],
    ["last", "last"],
    ["l", "last"],
    ["next", "next"],
    ["n", "next"],
  ])("spells a start %s", (kind, strategy) => {
    expect(strategyOf(poll(`kind=${kind}&value=18446744073709551615`))).toEqual({
      kind: strategy,
      value: 2n ** 64n - 1n,
    });
  });

  it("takes a name with blanks for a consumer, and ignores keys that it does not know", () => {
    expect(consumerOf(poll("consumer_id=reader+one&trace=1"))).toEqual({
      kind: "consumer",
      id: { kind: "string", value: "reader one" },
    });
  });

  it("takes a context as JSON text", () => {
    const context = encodeURIComponent('{"incarnation":3,"owner_generation":0,"metadata_op":18446744073709551615}');
    expect(poll(`context=${context}`).context).toEqual({
      incarnation: 3n,
      ownerGeneration: 0n,
      metadataOp: 2n ** 64n - 1n,
    });
  });

  it.each([
    "consumer_kind=group",
    "partition_id=-1",
    "partition_id=4294967296",
    "partition_id=",
    "kind=Offset",
    "kind=",
    "value=1.5",
    "value=18446744073709551616",
    "count=1e3",
    "count=4294967296",
    "auto_commit=1",
    "auto_commit=",
    "context=",
    "context=null",
    "context=3",
    "context=%7B%22incarnation%22%3A1%7D",
    "context=%7B",
  ])("refuses %s with 3", (text) => {
    expect(codeOf(() => poll(text))).toBe(3);
  });

  it("refuses a name that is too long with 6", () => {
    expect(codeOf(() => poll(`consumer_id=${"a".repeat(256)}`))).toBe(6);
  });
});

describe("the wait of a deferred poll", () => {
  it("answers at once and within ten seconds unless the query says otherwise", () => {
    expect(wait("")).toEqual({ waitUs: 0n, minCount: 1, maxBytes: 1_048_576, requestTimeoutUs: 10_000_000n });
    expect(wait("wait_us=5000000").requestTimeoutUs).toBe(15_000_000n);
  });

  it.each([
    "wait_us=600000000&request_timeout_us=630000000",
    "wait_us=0&request_timeout_us=1",
    "wait_us=1&request_timeout_us=1000001",
    "min_count=10&count=10",
    "max_bytes=344",
    "max_bytes=4294967295",
  ])("takes %s", (text) => {
    expect(codeOf(() => wait(text))).toBe(0);
  });

  it.each([
    ["wait_us=600000001", 3],
    ["wait_us=-1", 3],
    ["wait_us=1&request_timeout_us=1000000", 3],
    ["request_timeout_us=0", 3],
    ["request_timeout_us=630000001", 3],
    ["min_count=0", 4009],
    ["min_count=11", 4009],
    ["count=0", 4009],
    ["max_bytes=343", 80],
    ["max_bytes=4294967296", 3],
  ])("refuses %s with %d", (text, code) => {
    expect(codeOf(() => wait(text))).toBe(code);
  });
});
