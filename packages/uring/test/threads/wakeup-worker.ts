// A thread that answers every wake-up with one.
import { parentPort, workerData } from "node:worker_threads";
import { wake, Wakeup } from "../../src/index.js";
import { load } from "../support/ring-setup.js";

const { answer } = workerData as { answer: number };
const { addon } = load();
if (addon === undefined) throw new Error("no addon");
const wakeup = Wakeup.open(addon, () => wake(addon, answer));
parentPort?.postMessage(wakeup.id);
parentPort?.once("message", () => {
  // Its wake-up keeps no thread alive, and ends with it.
  parentPort?.unref();
});
