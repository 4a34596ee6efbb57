import { defineConfig } from "tsup";

export default defineConfig({
  // One entry per runtime; transports are chunks of their own, loaded by the first connection that needs them. The engine is
  // no dependency of the published package: what the fake server needs of it is bundled into `testing`.
  entry: {
    index: "src/index.ts",
    browser: "src/browser.ts",
    errors: "src/errors/public.ts",
    http: "src/http/index.ts",
    node: "src/node/index.ts",
    opentelemetry: "src/opentelemetry/index.ts",
    testing: "src/testing/index.ts",
    wire: "src/wire/index.ts",
  },
  format: ["esm", "cjs"],
  dts: { compilerOptions: { stripInternal: true } },
  sourcemap: true,
  clean: true,
  splitting: true,
  target: "node20",
});
