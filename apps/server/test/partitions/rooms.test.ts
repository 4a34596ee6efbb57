import { describe, expect, it } from "vitest";
import { DiskReadRoom } from "../../src/partitions/disk-room.js";
import { TaskSlots } from "../../src/task-slots.js";
import { Waits } from "../../src/partitions/waits.js";
import { ManualClock, settle } from "./clock.js";

/** A task that ends when the test says so. */
function task() {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const state = { isStarted: false };
  return {
    state,
    end: () => {
      end();
      return settle();
    },
    run: async () => {
      state.isStarted = true;
      await ended;
    },
  };
}

describe("task slots", () => {
  it("run so many tasks at a time, in the order in which they came, also when one fails", async () => {
    const slots = new TaskSlots(2);
    const tasks = [task(), task(), task(), task()];
    const runs = tasks.map(({ run }, i) =>
      slots.run(async () => {
        await run();
        if (i === 0) throw new Error("failed");
      }),
    );
    const failed = expect(runs[0]).rejects.toThrow("failed");
    const started = () => tasks.map(({ state }) => state.isStarted);
    await settle();
    expect(started()).toEqual([true, true, false, false]);
    await tasks[0]?.end();
    expect(started()).toEqual([true, true, true, false]);
    await failed;
    await tasks[2]?.end();
    expect(started()).toEqual([true, true, true, true]);
  });
});

describe("room for disk reads", () => {
  it("holds a bounded number of bytes; a read without room waits, and small ones behind it too", async () => {
    const room = new DiskReadRoom(10, 100);
    const tasks = [task(), task(), task(), task()];
    [60, 50, 10, 10].forEach((bytes, i) => void room.run(bytes, tasks[i]?.run ?? (() => Promise.resolve())));
    const started = () => tasks.map(({ state }) => state.isStarted);
    await settle();
    expect(started()).toEqual([true, false, false, false]);
    await tasks[0]?.end();
    expect(started()).toEqual([true, true, true, true]);
  });

  it("refuses when too many run and wait, before anything is read", async () => {
    const room = new DiskReadRoom(2, 100);
    const tasks = [task(), task(), task()];
    expect(tasks.map(({ run }) => room.run(90, run) === undefined)).toEqual([false, false, true]);
    await settle();
    expect(tasks[2]?.state.isStarted).toBe(false);
    await tasks[0]?.end();
    expect(room.run(10, () => 1)).toBeDefined();
  });

  it("lets a read through that wants more than there is, alone", async () => {
    const room = new DiskReadRoom(2, 100);
    expect(await room.run(1_000, () => 7)).toBe(7);
    expect(await room.run(100, () => 8)).toBe(8);
  });
});

describe("waits", () => {
  it("share one timer, which is set for the earliest and gone when nothing waits", async () => {
    const clock = new ManualClock();
    const waits = new Waits(clock, clock);
    const done: string[] = [];
    const late = waits.at(50, () => done.push("late"));
    waits.at(20, () => done.push("early"));
    waits.at(30, () => done.push("middle"));
    expect(clock.armed).toBe(1);
    await clock.advance(20);
    expect(done).toEqual(["early"]);
    expect(clock.armed).toBe(1);
    await clock.advance(15);
    waits.cancel(late);
    expect(done).toEqual(["early", "middle"]);
    expect(clock.armed).toBe(0);
  });

  it("may be set again while they run", async () => {
    const clock = new ManualClock();
    const waits = new Waits(clock, clock);
    let ticks = 0;
    const tick = (): void => {
      ticks++;
      if (ticks < 3) waits.at(waits.nowMillis + 10, tick);
    };
    waits.at(10, tick);
    await clock.advance(100);
    expect(ticks).toBe(3);
  });
});
