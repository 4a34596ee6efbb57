// `npm start`: from a fresh clone to a running development server. Arguments behind `--` go to the server.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensureAddon, ensureBuilt, ensureInstalled, requireNode, root } from "./workspace.mjs";

/** Arguments after which the server prints something and ends. */
const INFORMATIONAL = ["-h", "--help", "-V", "--version", "--list-config-env-vars"];
const STARTUP_WAIT_MILLIS = 60_000;

requireNode();
await ensureInstalled();
await ensureAddon();
await ensureBuilt();

const args = process.argv.slice(2);
const isInformational = args.some((argument) => INFORMATIONAL.includes(argument));
const dataDirectory = resolve(root, process.env.IGGY_PATH || "local_data");
const credentials =
  isInformational || args.includes("--with-default-root-credentials") ? [] : ["--with-default-root-credentials"];

const startedAt = Date.now();
const server = spawn(process.execPath, [join(root, "apps/server/dist/main.js"), ...credentials, ...args], {
  cwd: root,
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal));
server.once("error", (error) => {
  console.error(`The server cannot be started: ${error.message}`);
  process.exit(1);
});
server.once("exit", (code) => process.exit(code ?? 1));
if (!isInformational) await announce();

/** Says how to reach the server, once it has written the address it listens on. */
async function announce() {
  const written = join(dataDirectory, "runtime", "current_config.toml");
  const isCurrent = () => existsSync(written) && statSync(written).mtimeMs >= startedAt;
  while (!isCurrent()) {
    if (Date.now() - startedAt > STARTUP_WAIT_MILLIS) return;
    await new Promise((wake) => setTimeout(wake, 50));
  }
  const address = /\[tcp\][^[]*?\naddress = "([^"]+)"/.exec(readFileSync(written, "utf8"))?.[1] ?? "?";
  const username = process.env.IGGY_ROOT_USERNAME || "iggy";
  const isDefault = !process.env.IGGY_ROOT_PASSWORD;
  console.log(
    [
      "",
      `  Iggy listens on  ${address} (TCP)`,
      `  sign in as       ${username} / ${isDefault ? "iggy" : "the password of IGGY_ROOT_PASSWORD"}`,
      ...(isDefault ? [`  or connect with  iggy://${username}:iggy@${address}`] : []),
      `  data directory   ${dataDirectory}`,
      "  stop it with     Ctrl-C",
      "",
    ].join("\n"),
  );
}
