import { setFlagsFromString } from "node:v8";
import {
  configVariables,
  parseArguments,
  readSettings,
  type RunArguments,
  usageText,
  withEnvFile,
} from "./config/index.js";
import { Logging, stdoutConsole } from "./logging/index.js";
import { Server } from "./server.js";
import { connectSupervisor, type Supervisor, thisMachine } from "./system/index.js";
import { SERVER_VERSION } from "./version.js";

/** Exit statuses: 0 ended gracefully, 1 could not start or had to stop, 2 wrong arguments. */
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/**
 * Received batches live outside the JavaScript heap, and each 64 MB of them start a collection. Of a heap this small
 * (about 15 MB) one short pause costs less than marking in steps: half the CPU of a publish, measured with 4 producers
 * of 250 x 1000 bytes.
 */
function tuneCollector(): void {
  setFlagsFromString("--no-incremental-marking");
}

async function run(runArguments: RunArguments): Promise<void> {
  tuneCollector();
  const logging = new Logging(stdoutConsole(process.stdout, { NO_COLOR: process.env["NO_COLOR"] ?? "" }));
  const machine = thisMachine(process.env);
  const environment = withEnvFile(process.env, machine.workingDirectory, (path) => machine.readText(path));
  const supervisor = connectSupervisor(environment, (message) => logging.part("server").warn({}, message));
  try {
    const settings = readSettings({ arguments: runArguments, environment }, machine);
    const server = await Server.start({
      settings,
      logging,
      onFatal: (error) => {
        logging.part("server").fatal({ err: error }, "the node can not go on");
        logging.flushSync();
        process.exit(EXIT_FAILED);
      },
    });
    stopOnSignal(server, logging, supervisor);
    logging.part("server").info({ addresses: server.addresses }, readiness(server));
    supervisor.ready();
  } catch (error) {
    logging.abandon();
    process.stderr.write(`iggy-server: ${error instanceof Error ? error.message : String(error)}\n`);
    await logging.close();
    await supervisor.close();
    process.exitCode = EXIT_FAILED;
  }
}

/** Names of transports as people write them. */
const TRANSPORT_NAMES = { tcp: "TCP", websocket: "WebSocket", quic: "QUIC", http: "HTTP" } as const;

function readiness({ addresses }: Server): string {
  const { tcp, websocket, quic, http } = TRANSPORT_NAMES;
  const all = [
    [addresses.tcp, tcp],
    [addresses.websocket, websocket],
    [addresses.quic, quic],
    [addresses.http, http],
  ];
  const shown = all.filter(([address]) => address !== undefined).map(([address, name]) => `${address} (${name})`);
  return shown.length === 0 ? "ready, without a listener" : `ready: clients connect to ${shown.join(", ")}`;
}

/** A second signal during the stop does not cut it short: acknowledged messages are still being written. */
function stopOnSignal(server: Server, logging: Logging, supervisor: Supervisor): void {
  const log = logging.part("server");
  let stopping = false;
  const stop = async (signal: string): Promise<void> => {
    if (stopping) {
      log.warn({ signal }, "already stopping");
      return;
    }
    stopping = true;
    supervisor.stopping();
    log.info({ signal }, "signal received");
    try {
      await server.stop();
    } catch (error) {
      log.error({ err: error }, "the stop was not clean");
      supervisor.status("shard threads failed during shutdown");
      process.exitCode = EXIT_FAILED;
    }
    await supervisor.close();
    await logging.close();
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void stop(signal));
}

const command = parseArguments(process.argv.slice(2));
switch (command.command) {
  case "run":
    await run(command);
    break;
  case "list-config-env-vars":
    process.stdout.write(`${configVariables().join("\n")}\n`);
    break;
  case "help":
    process.stdout.write(usageText());
    break;
  case "version":
    process.stdout.write(`iggy-server ${SERVER_VERSION}\n`);
    break;
  case "refuse":
    process.stderr.write(command.message);
    process.exitCode = EXIT_USAGE;
}
