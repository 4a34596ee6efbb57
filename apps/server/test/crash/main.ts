import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Rounds } from "./rounds.js";

/**
 * Kills a server while it works, round after round, and checks after each start that nothing acknowledged is missing,
 * nothing is there twice and nothing is refused. Exits with 1, and keeps the data directory, when something is wrong.
 *
 *   node --conditions=@iggy/source --import tsx apps/server/test/crash/main.ts
 *
 * IGGY_CRASH_ROUNDS (40), IGGY_CRASH_SEED (of the clock), IGGY_CRASH_PROGRAM (a built main.js; else the sources),
 * IGGY_CRASH_DIRECTORY (where the data goes; else the directory of temporary files).
 *
 * A seed repeats what is sent, when servers are killed and which clients are replaced. How far a server has come by then
 * is up to the machine, so a fault may need several runs of its seed.
 */
const rounds = Number(process.env["IGGY_CRASH_ROUNDS"] ?? 40);
const seed = Number(process.env["IGGY_CRASH_SEED"] ?? Date.now() % 1_000_000_000);
const dataDirectory = await mkdtemp(join(process.env["IGGY_CRASH_DIRECTORY"] ?? tmpdir(), "iggy-crash-"));

console.log(`crash: ${rounds} rounds, seed ${seed} (IGGY_CRASH_SEED=${seed} repeats it)`);
const startedAt = performance.now();
const driver = new Rounds({
  dataDirectory,
  rounds,
  seed,
  program: process.env["IGGY_CRASH_PROGRAM"],
  report: (line) => {
    console.log(`crash: ${line}`);
  },
});
try {
  const { faults, answered, batches, messages, ends, killedStarts, warnings, slowestStartMillis } = await driver.run();
  for (const [kind, count] of warnings) console.log(`  warned ${count} times: ${kind}`);
  console.log(`  ${JSON.stringify({ ...ends, "killed at the start": killedStarts })}`);
  console.log(`  ${answered} requests answered, ${batches} batches with ${messages} messages acknowledged`);
  console.log(
    `  slowest start ${slowestStartMillis} ms, ${Math.round((performance.now() - startedAt) / 1000)} s in all`,
  );
  if (faults.length > 0) throw new Error(faults.join("\n"));
  await rm(dataDirectory, { recursive: true });
  console.log("crash: nothing was lost");
} catch (error) {
  console.error(error);
  console.error(`crash: FAILED with seed ${seed}; the data is kept in ${dataDirectory}`);
  process.exitCode = 1;
} finally {
  await driver.close();
}
