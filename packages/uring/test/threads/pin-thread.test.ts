import { expect, test, vi } from "vitest";
import { pinThread } from "../../src/index.js";
import { withAddon } from "../support/uring.js";

vi.setConfig({ testTimeout: 90_000 });

withAddon("a thread", (addon) => {
  const cores = addon.threadCores();

  test("is pinned to a core of the process, and goes back to all of them", () => {
    for (const core of cores) {
      const undo = pinThread(addon, core);
      expect(addon.threadCores()).toEqual([core]);
      undo();
      expect(addon.threadCores()).toEqual(cores);
    }
  });

  test("stays where it is when a core is none of the machine", () => {
    expect(() => pinThread(addon, 1023)).toThrow(expect.objectContaining({ code: "EINVAL" }));
    expect(() => addon.threadPin([])).toThrow(expect.objectContaining({ code: "EINVAL" }));
    expect(() => addon.threadPin([5000])).toThrow(RangeError);
    expect(addon.threadCores()).toEqual(cores);
  });
});
