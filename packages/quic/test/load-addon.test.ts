import { expect, test } from "vitest";
import { type AddonPlace, probe } from "../src/index.js";

const place: AddonPlace = {
  platform: "linux",
  arch: "x64",
  root: "/package",
  exists: () => false,
  load: () => {
    throw new Error("not to be loaded");
  },
};

test("without an addon the probe says why, and what to do", () => {
  expect(probe(place)).toEqual({
    available: false,
    reason: "there is no native addon for linux-x64, and none was built here",
    remedy: expect.stringContaining("build:addon") as string,
  });
});

test("one that was built here is looked for first, then those that came with the package", () => {
  const tried: string[] = [];
  const exists = (path: string): boolean => tried.push(path) < 0;
  probe({ ...place, exists });
  expect(tried).toEqual([
    "/package/build/Release/quic.node",
    "/package/prebuilds/linux-x64/quic.glibc.node",
    "/package/prebuilds/linux-x64/quic.musl.node",
  ]);
  tried.length = 0;
  probe({ ...place, platform: "darwin", arch: "arm64", exists });
  expect(tried.at(-1)).toBe("/package/prebuilds/darwin-arm64/quic.node");
});

test("one that can't be loaded, or is of another revision, is named in one line", () => {
  const broken = probe({ ...place, exists: () => true });
  expect(broken.reason).toContain("/package/build/Release/quic.node: not to be loaded");
  expect(broken.reason).not.toContain("\n");
  const old = probe({ ...place, exists: () => true, load: () => ({ revision: -1 }) });
  expect(old.reason).toContain("is not of revision");
});
