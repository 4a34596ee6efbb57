import { describe, expect, it } from "vitest";
import { resolveStart } from "@iggy/engine";

const at = (offset: number) => ({ kind: "offset", offset });
const facts = { nextOffset: 42, count: 10, storedOffset: 7 };

describe("the start of a poll", () => {
  it.each([
    ["offset: that offset", { kind: "offset", value: 41n }, facts, at(41)],
    ["offset: one behind the end stays there", { kind: "offset", value: 99n }, facts, at(99)],
    [
      "offset: the largest number lies behind every end",
      { kind: "offset", value: 2n ** 64n - 1n },
      facts,
      at(2 ** 53 - 1),
    ],
    ["timestamp: that time", { kind: "timestamp", value: 5n }, facts, { kind: "timestamp", micros: 5 }],
    ["first: 0, whatever the value says", { kind: "first", value: 9n }, facts, at(0)],
    ["last: the last count messages", { kind: "last", value: 9n }, facts, at(32)],
    ["last: 0 when fewer are there", { kind: "last", value: 0n }, { ...facts, count: 100 }, at(0)],
    ["last: 0 in an empty partition", { kind: "last", value: 0n }, { ...facts, nextOffset: 0 }, at(0)],
    ["next: behind the stored offset, whatever the value says", { kind: "next", value: 30n }, facts, at(8)],
    ["next: behind a stored offset of 0", { kind: "next", value: 0n }, { ...facts, storedOffset: 0 }, at(1)],
    ["next: 0 without a stored offset", { kind: "next", value: 0n }, { ...facts, storedOffset: undefined }, at(0)],
  ] as const)("%s", (_what, strategy, start, expected) => {
    expect(resolveStart(strategy, start)).toEqual(expected);
  });
});
