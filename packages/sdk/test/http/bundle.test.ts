import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { expect, test } from "vitest";

const folder = new URL("../..", import.meta.url).pathname;

test("the HTTP client alone takes what browsers have, and no binary transport with it", async () => {
  const result = await build({
    stdin: {
      contents: `
        import { HttpClient } from "@iggy/sdk/http";
        const fetch = async (url, init) => {
          globalThis.asked = init.method + " " + url;
          return new Response("[]", { headers: { "content-type": "application/json" } });
        };
        globalThis.streams = new HttpClient({ url: "http://localhost:3000", jwt: "token", fetch }).stream.list();
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
  const text = result.outputFiles[0]?.text ?? "";
  expect(result.warnings).toEqual([]);
  const used = Object.entries(Object.values(result.metafile.outputs)[0]?.inputs ?? {}).flatMap(([input, part]) =>
    part.bytesInOutput > 0 ? [input] : [],
  );
  expect(used.filter((input) => /sdk\/src\/(link|transport|session\/connector|reader\/reading)/.test(input))).toEqual(
    [],
  );
  expect(text).not.toMatch(/["']node:/);
  expect(text).not.toMatch(/\bBuffer\b/);
  const { performance, TextEncoder, TextDecoder, AbortController, URL, crypto, Response } = globalThis;
  const context = createContext({
    ...{ performance, TextEncoder, TextDecoder, AbortController, URL, crypto, Response },
    ...{ setTimeout, clearTimeout, queueMicrotask },
  });
  runInContext(text, context);
  expect(JSON.stringify(await (context["streams"] as Promise<unknown>))).toBe("[]");
  expect(context["asked"]).toBe("GET http://localhost:3000/streams");
});
