// `npm test`: from a fresh clone to every test of the repository. Ends with one line per suite and a fitting status.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureAddon, ensureBuilt, ensureInstalled, ensureQuic, pnpm, requireNode, root, run } from "./workspace.mjs";

requireNode();
await ensureInstalled();
await ensureAddon();
await ensureQuic();
await ensureBuilt();

const reports = mkdtempSync(join(tmpdir(), "iggy-test-"));
const suites = [await unitTests()];
if (hasScenarios()) suites.push(await scenarios());
rmSync(reports, { recursive: true });

console.log();
for (const { name, passed, failed, seconds } of suites) {
  console.log(`${name.padEnd(10)} ${passed} passed, ${failed} failed (${seconds} s)`);
}
process.exit(suites.every((suite) => suite.failed === 0) ? 0 : 1);

async function unitTests() {
  const report = join(reports, "unit.json");
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--reporter=dot", "--reporter=json", `--outputFile.json=${report}`];
  return timed(
    "unit",
    () => run(process.execPath, args),
    () => {
      const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
      return { passed: numPassedTests, failed: numFailedTests };
    },
  );
}

function hasScenarios() {
  const folder = join(root, "bdd");
  return (
    existsSync(folder) &&
    readdirSync(folder, { recursive: true }).some((name) => /^(?!.*node_modules).*\.feature$/.test(name))
  );
}

async function scenarios() {
  const report = join(reports, "bdd.json");
  const args = ["--filter", "@iggy/bdd", "test", "--format", "summary", "--format", `json:${report}`];
  return timed(
    "scenarios",
    () => pnpm(args),
    () => {
      const features = JSON.parse(readFileSync(report, "utf8"));
      const runs = features.flatMap((feature) => feature.elements.filter((element) => element.type === "scenario"));
      const failed = runs.filter((scenario) => scenario.steps.some((step) => step.result.status !== "passed")).length;
      return { passed: runs.length - failed, failed };
    },
  );
}

/** Runs a suite; one that leaves no report behind counts as one failure. */
async function timed(name, start, readReport) {
  const startedAt = Date.now();
  const status = await start();
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  try {
    const { passed, failed } = readReport();
    // A file that cannot even be loaded has no failed test in it.
    return { name, status, seconds, passed, failed: Math.max(failed, status === 0 ? 0 : 1) };
  } catch {
    return { name, status, seconds, passed: 0, failed: 1 };
  }
}
