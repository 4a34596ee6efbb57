/** Holds the data directory that the first argument names, until it is killed. */
import { LibuvIo, openDataDirectory } from "../src/index.js";

const path = process.argv[2] ?? "";
await openDataDirectory(new LibuvIo(), path);
process.stdout.write("held\n");
setInterval(() => undefined, 1000);
