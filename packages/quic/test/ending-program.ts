// Opens a listener and a connection with traffic under way, and ends in the way that its argument names.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parentPort, Worker, workerData } from "node:worker_threads";
import { connectQuic, QuicListener, readCertificate } from "../src/index.js";
import { pemOf } from "./support/fixtures.js";
import { serverDefaults } from "./support/server-defaults.js";

/** Workers do not take over the loader of TypeScript, so they begin by registering it. */
const LOADER = new URL(
  "dist/esm/api/index.mjs",
  pathToFileURL(createRequire(import.meta.url).resolve("tsx/package.json")),
).href;

const how = parentPort === null ? process.argv[2] : String(workerData);

async function startTraffic(): Promise<() => Promise<void>> {
  const listener = QuicListener.listen({
    ...serverDefaults,
    certificate: readCertificate(pemOf("p256")),
    onConnection: (connection) => ({
      message: (stream, bytes) => connection.respond(stream, [bytes]),
      stopped: () => undefined,
      drained: () => undefined,
      closed: () => undefined,
    }),
  });
  const client = await connectQuic(
    { host: "127.0.0.1", port: listener.port, rejectUnauthorized: false },
    { onReply: () => undefined, onFailed: () => undefined, onDrain: () => undefined, onClose: () => undefined },
  );
  for (let i = 0; i < 1000; i++) client.request(Buffer.alloc(20_000));
  return async () => {
    client.close();
    await listener.close();
  };
}

async function endThread(): Promise<void> {
  const start = `import(${JSON.stringify(LOADER)}).then(({ register }) => {
    register();
    return import(${JSON.stringify(import.meta.url)});
  });`;
  const worker = new Worker(start, { eval: true, workerData: "stay", execArgv: [] });
  await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  await worker.terminate();
  console.log("terminated");
}

if (how === "thread") {
  await endThread();
} else {
  const stop = await startTraffic();
  if (how === "exit") process.exit(0);
  if (how === "throw") throw new Error("thrown");
  if (how === "stay") parentPort?.postMessage("ready");
  if (how === "close") {
    await stop();
    console.log("closed");
  }
}
