import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Transferable, Worker } from "node:worker_threads";

export interface ThreadOptions {
  readonly name: string;
  readonly workerData: unknown;
  readonly transferList: readonly Transferable[];
}

/** The name of an entry beside the modules, where they are built, or beside this module's folder in the sources. */
const isSource = fileURLToPath(import.meta.url).endsWith(".ts");

/** The address of a worker's entry: `entry` is its path from the package's source root, without an extension. */
export function entryOf(entry: string): URL {
  const name = entry.slice(entry.lastIndexOf("/") + 1);
  return isSource ? new URL(`../${entry}.ts`, import.meta.url) : new URL(`./${name}.js`, import.meta.url);
}

/** Starts a thread on a module. From the sources it needs the loader that the process was started with, too. */
export function startThread(entry: URL, { name, workerData, transferList }: ThreadOptions): Worker {
  const options = { name, workerData, transferList: [...transferList] };
  if (!entry.pathname.endsWith(".ts")) return new Worker(entry, options);
  const loader = pathToFileURL(
    createRequire(import.meta.url)
      .resolve("tsx/esm/api")
      .replace(/\.cjs$/, ".mjs"),
  ).href;
  const start = `import(${JSON.stringify(loader)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(entry.href)});
  })`;
  return new Worker(start, {
    ...options,
    eval: true,
    execArgv: ["--conditions=@iggy/source"],
  });
}
