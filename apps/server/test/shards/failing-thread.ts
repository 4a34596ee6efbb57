import { parentPort, workerData } from "node:worker_threads";

/** Is ready, and then ends as it is told: by an error, by a rejection that nobody handles, or by itself. */
parentPort?.postMessage({ kind: "ready" });
parentPort?.on("message", () => undefined);
setTimeout(() => {
  if (workerData === "throws") throw new Error("a fault of the shard");
  if (workerData === "rejects") void Promise.reject(new Error("a fault of the shard"));
  if (workerData === "exits") process.exit(3);
}, 50);
