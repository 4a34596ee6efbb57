import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as browser from "../src/browser.js";
import * as node from "../src/index.js";
import { sdkVersion } from "../src/version.js";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};

test("sign-ins carry the version of the package", () => {
  expect(sdkVersion).toBe(version);
});

test("the browser gets the same names as Node.js", () => {
  expect(Object.keys(browser).sort()).toEqual(Object.keys(node).sort());
});
