// Packs the package as it would be published and checks the tarball: publint for the manifest, are-the-types-wrong for
// the types under every module resolution, the compiler for the examples of the readme.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "iggy-sdk-pack-"));
const run = (command, args) => execFileSync(command, args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
// pnpm is a program or a script, depending on its version.
const pnpm = process.env.npm_execpath ?? "pnpm";
const runPnpm = (...args) => (/\.[cm]?js$/.test(pnpm) ? run(process.execPath, [pnpm, ...args]) : run(pnpm, args));

// Two copies of the package in one process: an error of one is an instance of the class of the other.
const bothFormats = `
  import { createRequire } from "node:module";
  import * as esm from "@iggy/sdk";
  const cjs = createRequire(import.meta.url)("@iggy/sdk");
  for (const name of Object.keys(esm)) if (!(name in cjs)) throw new Error(name + " is missing from the CommonJS build");
  for (const [one, other] of [[esm, cjs], [cjs, esm]]) {
    const error = await new one.Client({ transport: "WS" }).connect().catch((thrown) => thrown);
    if (!(error instanceof other.FeatureUnavailableError && error instanceof other.IggyError) || error.code !== 5) {
      throw new Error("an error of one copy is not one of the other");
    }
    if (error instanceof other.NotFoundError) throw new Error("an error is an instance of a class it is not of");
  }
`;

/** Writes each example as a module inside the package, so that it sees the built package under its own name. */
function writeExamples(examples) {
  mkdirSync(examples, { recursive: true });
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code);
  return blocks.map((code, index) => {
    const file = join(examples, `example-${index}.mts`);
    const client = /\bclient =/.test(code) ? "" : 'declare const client: import("@iggy/sdk").Client;\n';
    writeFileSync(file, `${client}${code}export {};\n`);
    return file;
  });
}

const examples = join(folder, "dist", "examples");
const compilerOptions = "--noEmit --strict --target es2022 --lib esnext --module nodenext --types node".split(" ");

try {
  runPnpm("pack", "--pack-destination", out);
  const tarball = join(out, readdirSync(out).find((name) => name.endsWith(".tgz")) ?? "missing.tgz");
  run("publint", ["run", tarball, "--strict"]);
  run("attw", [tarball]);
  run(process.execPath, ["--input-type=module", "--eval", bothFormats]);
  run("tsc", [...compilerOptions, ...writeExamples(examples)]);
  console.log("package: manifest, types, both formats and examples are sound");
} finally {
  rmSync(out, { recursive: true, force: true });
  rmSync(examples, { recursive: true, force: true });
}
