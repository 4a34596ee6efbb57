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

/** Streams of Node.js. */
const nodeOnly = ["groupConsumerStream", "singleConsumerStream"];

test("the browser gets the same names as Node.js, but for its streams", () => {
  expect([...Object.keys(browser), ...nodeOnly].sort()).toEqual(Object.keys(node).sort());
});
