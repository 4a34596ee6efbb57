// Runs at installation and never fails it: a prebuilt addon, else one built here, else a line that says why there is none.
import { build } from "./build.mjs";
import { loadPrebuilt } from "./prebuilt.mjs";

const missing = loadPrebuilt();
if (missing !== undefined) {
  const problem = build();
  if (problem !== undefined) console.log(`@iggy/uring: no native addon, the server will use libuv (${problem})`);
}
