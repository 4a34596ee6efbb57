import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Turn, WriteLanes } from "../../../src/http/messages/write-lanes.js";

const limits = { sessionWritesMax: 2, nodeWritesMax: 3, sessionWaitersMax: 2, bytesMax: 100, waitMillis: 1000 };
const patient = new AbortController().signal;

interface Entered {
  turn: Turn | undefined;
  error: unknown;
}

function enter(lanes: WriteLanes, session: string, partition: number, size = 1, signal = patient): Entered {
  const entered: Entered = { turn: undefined, error: undefined };
  lanes.enter(session, partition, size, signal).then(
    (turn) => {
      entered.turn = turn;
    },
    (error: unknown) => {
      entered.error = error;
    },
  );
  return entered;
}
const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe("writes of one session to one partition", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("go one at a time, in the order in which they came", async () => {
    const lanes = new WriteLanes(limits);
    const [first, second, third] = [enter(lanes, "a", 1), enter(lanes, "a", 1), enter(lanes, "a", 1)];
    await settled();
    expect([first.turn, second.turn, third.turn].map(Boolean)).toEqual([true, false, false]);
    first.turn?.leave();
    first.turn?.leave();
    await settled();
    expect([second.turn, third.turn].map(Boolean)).toEqual([true, false]);
    second.turn?.leave();
    await settled();
    expect(third.turn).toBeDefined();
    third.turn?.leave();
    expect(lanes.inFlight).toBe(0);
  });

  it("do not hold up other sessions and other partitions", async () => {
    const lanes = new WriteLanes(limits);
    const turns = [enter(lanes, "a", 1), enter(lanes, "a", 2), enter(lanes, "b", 1)];
    await settled();
    expect(turns.every(({ turn }) => turn !== undefined)).toBe(true);
  });

  it("that wait do not use up what the session may have in flight", async () => {
    const lanes = new WriteLanes(limits);
    enter(lanes, "a", 1);
    enter(lanes, "a", 1);
    enter(lanes, "a", 1);
    const other = enter(lanes, "a", 2);
    await settled();
    expect(other.turn).toBeDefined();
  });

  it("beyond those that may be in flight are refused with 429, and leave their partition free", async () => {
    const lanes = new WriteLanes(limits);
    const first = enter(lanes, "a", 1);
    enter(lanes, "a", 2);
    const refused = enter(lanes, "a", 3);
    await settled();
    expect(refused.error).toMatchObject({ status: 429, code: "too_many_in_flight_writes" });
    first.turn?.leave();
    const again = enter(lanes, "a", 3);
    await settled();
    expect(again.turn).toBeDefined();
  });

  it("beyond those of the node are refused with 503", async () => {
    const lanes = new WriteLanes(limits);
    for (const session of ["a", "b", "c"]) enter(lanes, session, 1);
    const refused = enter(lanes, "d", 1);
    await settled();
    expect(refused.error).toMatchObject({ status: 503, code: "server_busy" });
  });

  it("beyond those that may wait are refused with 429", async () => {
    const lanes = new WriteLanes(limits);
    for (let i = 0; i < 3; i++) enter(lanes, "a", 1);
    const refused = enter(lanes, "a", 1);
    await settled();
    expect(refused.error).toMatchObject({ status: 429 });
  });

  it("are refused with 503 while too many bytes are under way, however large a lone one may be", async () => {
    const lanes = new WriteLanes(limits);
    const large = enter(lanes, "a", 1, 1000);
    const refused = enter(lanes, "b", 1, 1);
    await settled();
    expect(large.turn).toBeDefined();
    expect(refused.error).toMatchObject({ status: 503, code: "server_busy" });
    large.turn?.leave();
    const later = enter(lanes, "b", 1, 1);
    await settled();
    expect(later.turn).toBeDefined();
  });

  it("that wait too long are refused with 58, and the next one takes their place", async () => {
    const lanes = new WriteLanes(limits);
    const first = enter(lanes, "a", 1);
    const late = enter(lanes, "a", 1);
    await vi.advanceTimersByTimeAsync(999);
    const next = enter(lanes, "a", 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(late.error).toMatchObject({ code: 58 });
    first.turn?.leave();
    await settled();
    expect(next.turn).toBeDefined();
  });

  it("whose client is gone leave the queue", async () => {
    const lanes = new WriteLanes(limits);
    const first = enter(lanes, "a", 1);
    const gone = new AbortController();
    const second = enter(lanes, "a", 1, 1, gone.signal);
    const third = enter(lanes, "a", 1);
    await settled();
    gone.abort();
    await settled();
    expect(second.error).toMatchObject({ code: 58 });
    first.turn?.leave();
    await settled();
    expect(third.turn).toBeDefined();
  });

  it("whose client was gone before never wait", async () => {
    const lanes = new WriteLanes(limits);
    enter(lanes, "a", 1);
    const refused = enter(lanes, "a", 1, 1, AbortSignal.abort());
    await settled();
    expect(refused.error).toMatchObject({ code: 58 });
  });

  it("leave nothing behind after any mix of turns, refusals and departures", async () => {
    const lanes = new WriteLanes(limits);
    for (let round = 0; round < 20; round++) {
      const entered = Array.from({ length: 12 }, (_, i) => enter(lanes, `s${i % 4}`, i % 3, 5));
      for (let step = 0; step < 12; step++) {
        await settled();
        for (const { turn } of entered) turn?.leave();
      }
    }
    const last = enter(lanes, "s0", 0, 1000);
    await settled();
    expect(last.turn).toBeDefined();
    expect(lanes.inFlight).toBe(1);
  });
});
