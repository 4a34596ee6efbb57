// `node examples/run-all.mjs`: runs every example of README.md, by its command line there, against a fresh server. The
// status is 0 when all of them ended with 0. Needs a built workspace.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const OWN_PATH = fileURLToPath(import.meta.url);
const ROOT = dirname(dirname(OWN_PATH));
const EXAMPLE_LIMIT_MS = 60_000;

process.exitCode = process.env.IGGY_ADDRESS === undefined ? runWithFreshServer() : runExamples();

/** Runs this program once more, with the address of a server that lives as long as the run. */
function runWithFreshServer() {
  const words = [join(ROOT, "scripts/with-server.mjs"), process.execPath, OWN_PATH];
  return spawnSync(process.execPath, words, { stdio: "inherit" }).status ?? 1;
}

/** The examples honour IGGY_ADDRESS. */
function runExamples() {
  let failed = 0;
  const commands = readCommands();
  for (const command of commands) {
    console.log(`\n$ ${command}`);
    const startedAt = Date.now();
    const { status, signal } = spawnSync(command, {
      cwd: ROOT,
      shell: true,
      stdio: "inherit",
      timeout: EXAMPLE_LIMIT_MS,
    });
    if (status === 0) {
      console.log(`ok (${Date.now() - startedAt} ms)`);
    } else {
      failed += 1;
      console.log(`FAIL: it ended with ${status ?? signal}`);
    }
  }
  console.log(`\n${commands.length - failed} passed, ${failed} failed`);
  return failed === 0 && commands.length > 0 ? 0 : 1;
}

/** The lines of the shell blocks that run an example. */
function readCommands() {
  const readme = readFileSync(join(dirname(OWN_PATH), "README.md"), "utf8");
  const blocks = Array.from(readme.matchAll(/^```bash\n([^]*?)^```$/gm), ([, block]) => block);
  return blocks.flatMap((block) => block.split("\n")).filter((line) => line.startsWith("npx tsx examples/"));
}
