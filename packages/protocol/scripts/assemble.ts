/** Assembles src/hash/wasm/xxh3.wat into the committed module text; run after changing it. A test compares both. */
import { readFileSync, writeFileSync } from "node:fs";
import wabt from "wabt";

const folder = new URL("../src/hash/wasm/", import.meta.url);

/** The module text that belongs to the WebAssembly source. */
export async function assembledModuleText(): Promise<string> {
  const tools = await wabt();
  const module = tools.parseWat("xxh3.wat", readFileSync(new URL("xxh3.wat", folder), "utf8"), { simd: true });
  const base64 = Buffer.from(module.toBinary({}).buffer).toString("base64");
  const lines = base64.match(/.{1,112}/g) ?? [];
  return [
    "// Assembled from xxh3.wat by `pnpm --filter @iggy/protocol assemble`. Do not edit.",
    "export const moduleBase64 =",
    `${lines.map((line) => `  "${line}"`).join(" +\n")};`,
    "",
  ].join("\n");
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(new URL("module.generated.ts", folder), await assembledModuleText());
}
