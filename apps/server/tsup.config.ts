import { defineConfig } from "tsup";

export default defineConfig({
  // Each shard but the first one runs `shard-worker` in a thread of its own.
  entry: { index: "src/index.ts", main: "src/main.ts", "shard-worker": "src/shards/shard-worker.ts" },
  format: ["esm"],
  dts: true,
  sourcemap: true,
  clean: true,
  target: "node20",
});
