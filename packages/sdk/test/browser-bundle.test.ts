import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserProject, type Bundle, bundlers } from "./support/bundles.js";

/*
 * What a bundler makes of the package for a browser, without configuration: no module of Node.js, nothing that only Node.js
 * has, a small page, and a clear error for a transport that browsers do not have.
 */

/** Of the whole client; 117,000 were measured, and a tenth is left for growth. */
const maxGzipBytes = 129_000;

const page = `
  import { connect, FeatureUnavailableError, PollingStrategy } from "@iggy/sdk";
  const codeOf = (config) =>
    connect(config).then(
      () => "connected",
      (error) => (error instanceof FeatureUnavailableError ? error.code + ": " + error.message : error),
    );
  globalThis.outcomes = {
    tcp: codeOf("iggy://iggy:iggy@localhost:8090"),
    roots: codeOf({ transport: "WSS", tls: { ca: "PEM" } }),
    bare: codeOf({ transport: "WS", reconnect: { maxRetries: 0 } }),
  };
  globalThis.strategy = PollingStrategy.Offset(5).kind;
`;

let project: BrowserProject;
beforeAll(async () => {
  project = await BrowserProject.create(page);
});
afterAll(() => project[Symbol.asyncDispose]());

describe.each(bundlers)("a bundle of %s", (bundler) => {
  let bundle: Bundle;
  beforeAll(async () => {
    bundle = await project.bundle(bundler);
  }, 240_000);

  test("holds nothing of Node.js", () => {
    const { text, warnings } = bundle;
    expect(warnings).toEqual([]);
    expect(text).not.toMatch(/["'`]node:/);
    expect(text).not.toMatch(/\bBuffer\b/);
    expect(text).not.toMatch(/\brequire\(/);
    expect(text).not.toMatch(/\bprocess\./);
  });

  test("is small", () => {
    expect(bundle.gzipBytes).toBeLessThan(maxGzipBytes);
  });

  test("runs with what browsers have, and says which transport or option is missing", async () => {
    const { performance, TextEncoder, TextDecoder, AbortController, AbortSignal, URL, crypto } = globalThis;
    const context = createContext({
      ...{ performance, TextEncoder, TextDecoder, AbortController, AbortSignal, URL, crypto },
      ...{ setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask, atob, btoa },
    });
    runInContext(`(() => {${bundle.text.replace(/export\s*\{\s*\};?/, "")}})()`, context);
    const { tcp, roots, bare } = context["outcomes"] as Record<string, Promise<string>>;
    expect(await tcp).toMatch(/^5: a browser has no TCP transport/);
    expect(await roots).toMatch(/^5: a browser takes no tls\.ca/);
    expect(await bare).toMatch(/^5: this runtime has no WebSocket/);
    expect(context["strategy"]).toBe("offset");
  });
});
