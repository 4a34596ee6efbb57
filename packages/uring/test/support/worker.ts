import { once } from "node:events";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

/** Workers do not take over the loader of TypeScript, so they begin by registering it. */
const LOADER = new URL(
  "dist/esm/api/index.mjs",
  pathToFileURL(createRequire(import.meta.url).resolve("tsx/package.json")),
).href;

/** A worker that runs a TypeScript file of the tests. */
export function startWorker(file: URL, workerData: unknown): Worker {
  const start = `import(${JSON.stringify(LOADER)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(file.href)});
  });`;
  return new Worker(start, { eval: true, workerData, execArgv: [] });
}

export async function nextMessage<T>(worker: Worker): Promise<T> {
  const [message] = (await Promise.race([
    once(worker, "message"),
    once(worker, "error").then(([error]) => Promise.reject(error as Error)),
  ])) as [T];
  return message;
}
