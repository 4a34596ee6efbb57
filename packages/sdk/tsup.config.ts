import { defineConfig } from "tsup";

export default defineConfig({
  // One entry per runtime; transports are chunks of their own, loaded by the first connection that needs them.
  entry: { index: "src/index.ts", browser: "src/browser.ts", opentelemetry: "src/opentelemetry/index.ts" },
  format: ["esm", "cjs"],
  dts: { compilerOptions: { stripInternal: true } },
  sourcemap: true,
  clean: true,
  splitting: true,
  target: "node20",
});
