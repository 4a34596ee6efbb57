import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";

/*
 * What a bundler makes of the package for a browser: no module of Node.js, nothing that only Node.js has, and a clear
 * error for a transport that browsers do not have.
 */

const folder = new URL("..", import.meta.url).pathname;

const bundle = async () => {
  const result = await build({
    stdin: {
      contents: `
        import { connect, FeatureUnavailableError, PollingStrategy } from "@iggy/sdk";
        globalThis.outcome = connect("iggy://iggy:iggy@localhost:8090").then(
          () => "connected",
          (error) => (error instanceof FeatureUnavailableError ? error.code : error),
        );
        globalThis.strategy = PollingStrategy.Offset(5).kind;
      `,
      resolveDir: folder,
    },
    bundle: true,
    format: "iife",
    platform: "browser",
    target: "es2022",
    conditions: ["@iggy/source", "browser"],
    minify: true,
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error("no bundle");
  return { text: output.text, inputs: Object.keys(result.metafile.inputs), warnings: result.warnings };
};

test("the bundle holds nothing of Node.js", async () => {
  const { text, inputs, warnings } = await bundle();
  expect(warnings).toEqual([]);
  expect(inputs.filter((input) => input.includes("transport/tcp") || input.includes("transport/socket"))).toEqual([]);
  expect(text).not.toMatch(/["']node:/);
  expect(text).not.toMatch(/\bBuffer\b/);
  expect(text).not.toMatch(/\brequire\(/);
  expect(text).not.toMatch(/\bprocess\./);
});

test("it runs with what browsers have, and says which transport is missing", async () => {
  const { text } = await bundle();
  const { performance, TextEncoder, TextDecoder, AbortController, AbortSignal, URL, crypto } = globalThis;
  const context = createContext({
    ...{ performance, TextEncoder, TextDecoder, AbortController, AbortSignal, URL, crypto },
    ...{ setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, atob, btoa },
  });
  runInContext(text, context);
  expect(await (context["outcome"] as Promise<unknown>)).toBe(5);
  expect(context["strategy"]).toBe("offset");
});
