import fc from "fast-check";
import { ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { REQUEST_WINDOW, RequestWindow } from "../../src/partition/request-window.js";
import { type Receipt, RETIRED_SESSIONS_MAX, WriterTable } from "../../src/partition/writers.js";

const receipt = (request: number, op = request): Receipt => ({
  request,
  requestChecksum: BigInt(request),
  operation: 160,
  op,
  view: 0,
  timestampMicros: op,
  code: 0,
  baseOffset: op,
});
const refused = (code: number) => ({ kind: "refuse", code });

describe("the request window", () => {
  it("tells new, applied and forgotten numbers apart like a set of the last 128", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 60 }), (requests) => {
        const window = new RequestWindow();
        const applied = new Set<number>();
        for (const request of requests) {
          if (window.state(request) === "too-old") continue;
          window.record(request);
          applied.add(request);
        }
        const highest = Math.max(0, ...applied);
        expect(window.highest).toBe(highest);
        for (let request = 1; request <= highest + 3; request++) {
          const expected =
            request > highest
              ? "new"
              : highest - request >= REQUEST_WINDOW
                ? "too-old"
                : applied.has(request)
                  ? "applied"
                  : "new";
          expect(window.state(request)).toBe(expected);
        }
        expect(new RequestWindow(window.highest, window.words).words).toEqual(window.words);
      }),
    );
  });
});

describe("retry protection", () => {
  it("runs a request above the highest, with gaps", () => {
    const table = new WriterTable();
    table.commit(1n, 1, receipt(10));
    expect(table.check(1n, 1, 12, 4)).toEqual({ kind: "new" });
  });

  it("answers an applied request with its first result", () => {
    const table = new WriterTable();
    table.commit(1n, 1, receipt(10, 3));
    expect(table.check(1n, 1, 10, 4)).toEqual({ kind: "replay", receipt: receipt(10, 3) });
  });

  it("runs a request that arrives late within the window", () => {
    const table = new WriterTable();
    table.commit(1n, 1, receipt(200));
    expect(table.check(1n, 1, 200 - 127, 4)).toEqual({ kind: "new" });
  });

  it("says that a request was applied when its result is gone", () => {
    const table = new WriterTable();
    for (let request = 1; request <= 6; request++) table.commit(1n, 1, receipt(request));
    expect(table.check(1n, 1, 1, 4)).toEqual(refused(ErrorCode.RequestAlreadyApplied));
    expect(table.check(1n, 1, 2, 4)).toMatchObject({ kind: "replay" });
  });

  it("calls a request below the window too old", () => {
    const table = new WriterTable();
    table.commit(1n, 1, receipt(200));
    expect(table.check(1n, 1, 72, 4)).toEqual(refused(ErrorCode.RequestTooOld));
  });

  it("keeps the receipt of a request that fell out of the window", () => {
    const table = new WriterTable();
    table.commit(1n, 1, receipt(1));
    table.commit(1n, 1, receipt(1000));
    expect(table.check(1n, 1, 1, 4)).toMatchObject({ kind: "replay", receipt: { request: 1 } });
  });

  it("tells a request that is ordered and not committed", () => {
    const table = new WriterTable();
    table.ordered(1n, 1, 5);
    expect(table.check(1n, 1, 5, 4)).toEqual({ kind: "pending" });
    expect(table.check(1n, 1, 6, 4)).toEqual({ kind: "new" });
    table.commit(1n, 1, receipt(5));
    expect(table.check(1n, 1, 5, 4)).toMatchObject({ kind: "replay" });
  });

  it("refuses a new writer when it is full and never gives a live one up", () => {
    const table = new WriterTable();
    table.commit(1n, 1, receipt(1));
    table.ordered(2n, 1, 1);
    expect(table.check(3n, 1, 1, 2)).toEqual(refused(ErrorCode.TransientNotAccepted));
    expect(table.check(1n, 1, 2, 2)).toEqual({ kind: "new" });
    expect(table.check(1n, 2, 1, 2)).toEqual(refused(ErrorCode.TransientNotAccepted));
  });

  it("frees the entry of a retired session and refuses its later writes", () => {
    const table = new WriterTable();
    table.commit(1n, 4, receipt(1));
    table.retire(1n, 4);
    expect(table.size).toBe(0);
    expect(table.check(1n, 4, 1, 4)).toEqual(refused(ErrorCode.StaleClient));
    expect(table.check(1n, 3, 1, 4)).toEqual(refused(ErrorCode.StaleClient));
    expect(table.check(1n, 5, 1, 4)).toEqual({ kind: "new" });
  });

  it("bounds how many retired sessions it remembers", () => {
    const table = new WriterTable();
    for (let client = 1; client <= RETIRED_SESSIONS_MAX + 1; client++) table.retire(BigInt(client), 1);
    expect([...table.retiredEntries()]).toHaveLength(RETIRED_SESSIONS_MAX);
    expect(table.check(1n, 1, 1, 4)).toEqual({ kind: "new" });
  });

  it("forgets writers that only had uncommitted requests when those are given up", () => {
    const table = new WriterTable();
    table.ordered(1n, 1, 1);
    table.commit(2n, 1, receipt(1));
    table.ordered(2n, 1, 2);
    table.dropPending();
    expect(table.size).toBe(1);
    expect(table.check(2n, 1, 2, 1)).toEqual({ kind: "new" });
  });
});
