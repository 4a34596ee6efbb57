import { describe, expect, test } from "vitest";
import { runProgram } from "./support/program.js";
import { title, without } from "./support/quic.js";

describe.skipIf(without)(`the end of a process or thread with traffic under way, ${title}`, () => {
  test.each([
    ["exit", 0, ""],
    ["throw", 1, ""],
    ["close", 0, "closed\n"],
    ["thread", 0, "terminated\n"],
  ])("%s ends in order", { timeout: 60_000 }, async (how, code, out) => {
    expect(await runProgram("ending-program", [how])).toEqual({ code, signal: null, out });
  });
});

describe.skipIf(without)(`memory ${title}`, () => {
  test("120,000 requests leave nothing behind", { timeout: 120_000 }, async () => {
    const { out } = await runProgram("memory-program", ["6", "20000"]);
    const [first = 0, ...later] = JSON.parse(out) as number[];
    expect(later.length).toBe(5);
    // Arenas of the allocator and the heap settle during the first rounds.
    expect(Math.max(...later) - first).toBeLessThan(24 * 1024 * 1024);
  });
});
