// `npm run test:crash`: kills a server over and over while it works, and checks after every start that nothing
// acknowledged was lost. `IGGY_CRASH_ROUNDS=300` makes it longer, `IGGY_CRASH_SEED` repeats a run.
import { join } from "node:path";
import { ensureBuilt, ensureInstalled, requireNode, root, run } from "./workspace.mjs";

requireNode();
await ensureInstalled();
await ensureBuilt();
const program = join(root, "apps/server/dist/main.js");
const driver = ["--conditions=@iggy/source", "--import", "tsx", "apps/server/test/crash/main.ts"];
process.exit(await run(process.execPath, driver, { IGGY_CRASH_PROGRAM: program }));
