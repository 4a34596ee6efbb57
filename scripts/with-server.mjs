// `node scripts/with-server.mjs <command...>`: runs a command against a fresh server on a free port and stops both.
// `{address}` in the arguments becomes the server's HOST:PORT, `{url}` its connection string; the command also finds
// them as IGGY_ADDRESS and IGGY_URL. The status is that of the command. Needs a built workspace.
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fail, root, run } from "./workspace.mjs";

const STARTUP_WAIT_MILLIS = 30_000;
const STOP_WAIT_MILLIS = 60_000;
/** Lines of the server's log that are shown when something failed. */
const SHOWN_LOG_LINES = 60;

const [program, ...args] = process.argv.slice(2);
if (program === undefined) fail("usage: node scripts/with-server.mjs <command...>");

const directory = mkdtempSync(join(tmpdir(), "iggy-server-"));
const logPath = join(directory, "server.log");
const server = startServer();
const ended = new Promise((resolve) => server.once("exit", (code, signal) => resolve(code ?? signal)));

let status = 1;
try {
  const address = await listeningAddress();
  const url = `iggy://iggy:iggy@${address}`;
  const filled = args.map((argument) => argument.replaceAll("{address}", address).replaceAll("{url}", url));
  status = await run(program, filled, { IGGY_ADDRESS: address, IGGY_URL: url });
} catch (error) {
  console.error(error.message);
}
const stopped = await stopServer();
if (stopped !== 0) {
  console.error(`The server ended with ${stopped}.`);
  status ||= 1;
}
if (status !== 0) showLog();
rmSync(directory, { recursive: true });
process.exit(status);

function startServer() {
  const foreign = Object.entries(process.env).filter(([name]) => !name.startsWith("IGGY_"));
  const log = openSync(logPath, "w");
  const child = spawn(process.execPath, [join(root, "apps/server/dist/main.js"), "--with-default-root-credentials"], {
    cwd: directory,
    stdio: ["ignore", log, log],
    env: {
      ...Object.fromEntries(foreign),
      IGGY_PATH: join(directory, "data"),
      IGGY_TCP_ADDRESS: "127.0.0.1:0",
      IGGY_WEBSOCKET_ADDRESS: "127.0.0.1:0",
      IGGY_QUIC_ADDRESS: "127.0.0.1:0",
      IGGY_HTTP_ADDRESS: "127.0.0.1:0",
    },
  });
  closeSync(log);
  return child;
}

async function listeningAddress() {
  const written = join(directory, "data", "runtime", "current_config.toml");
  const startedAt = Date.now();
  while (!existsSync(written)) {
    if (server.exitCode !== null) throw new Error(`The server ended with status ${server.exitCode} at its start.`);
    if (Date.now() - startedAt > STARTUP_WAIT_MILLIS) throw new Error("The server does not come up.");
    await new Promise((wake) => setTimeout(wake, 50));
  }
  return /\[tcp\][^[]*?\naddress = "([^"]+)"/.exec(readFileSync(written, "utf8"))?.[1] ?? "";
}

async function stopServer() {
  server.kill("SIGTERM");
  const timer = setTimeout(() => server.kill("SIGKILL"), STOP_WAIT_MILLIS);
  const result = await ended;
  clearTimeout(timer);
  return result;
}

function showLog() {
  const lines = readFileSync(logPath, "utf8").trimEnd().split("\n");
  console.error(`\nThe end of the server's log:\n${lines.slice(-SHOWN_LOG_LINES).join("\n")}`);
}
