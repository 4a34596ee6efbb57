// A session of the official `iggy` CLI: one command after the other, each with its exit status and what it must print.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const COMMAND_LIMIT_MS = 30_000;

/**
 * Runs the commands against `url` and prints a line for each.
 *
 * @param {string} program path of the CLI
 * @param {string} url `iggy+tcp://USER:PASSWORD@HOST:PORT`
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function runCli(program, url) {
  const [, username, password, address] = /^iggy(?:\+tcp)?:\/\/([^:]+):([^@]+)@(.+)$/.exec(url) ?? [];
  if (address === undefined) throw new Error(`the CLI run needs iggy+tcp://USER:PASSWORD@HOST:PORT, not ${url}`);
  const home = await mkdtemp(join(tmpdir(), "iggy-cli-"));
  const server = ["--tcp-server-address", address];
  const root = [...server, "-u", username, "-p", password];
  const result = { passed: 0, failed: 0 };
  const names = { stream: `cli-${process.pid}`, user: `cli-user-${process.pid}`, token: `cli-token-${process.pid}` };
  const found = {};
  try {
    for (const step of steps({ ...names, server, home })) {
      const words = typeof step.run === "function" ? step.run(found) : step.run;
      const account = typeof step.as === "function" ? step.as(found) : (step.as ?? root);
      const outcome = await execute(program, [...account, ...words], home, step.input);
      const problem = fault(step, outcome, found) ?? (await step.leaves?.());
      const title = `iggy ${words.join(" ")}`;
      console.log(problem === undefined ? `ok ${title} (${outcome.elapsedMs} ms)` : `FAIL ${title}: ${problem}`);
      result[problem === undefined ? "passed" : "failed"] += 1;
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
  console.log(`${result.passed} passed, ${result.failed} failed`);
  return result;
}

/**
 * `run` are the words of the command, `exits` the accepted statuses (0 by default), `prints` and `never` texts and
 * patterns for stdout, `fails` a text of stderr, `finds` keeps the first group of a pattern for later commands, `as`
 * replaces the root credentials, `input` is stdin, `leaves` resolves to what is wrong with what it left.
 */
function steps({ stream, user, token, server, home }) {
  const topic = "events";
  const target = [stream, topic];
  const account = (name, password) => [...server, "-u", name, "-p", password];
  return [
    { run: ["ping", "-c", "1"], prints: ["Ping statistics for 1 ping commands"] },
    { run: ["me"], prints: ["Client ID", /Transport +\| TCP/] },
    { run: ["client", "list", "-l", "list"], prints: [/\|TCP\|/] },
    { run: ["client", "get", "4294967294"], prints: ["was not found"] },
    { run: ["cluster", "metadata", "-l", "list"], prints: ["Cluster name:", /\|leader\|healthy\|0$/m] },
    { run: ["stats", "-o", "json"], prints: ['"process_id"', '"iggy_server_version"', '"open_files_limit"'] },
    { run: ["options", "topic"], prints: ["message_expiry", "updatable, resettable", "replication_factor"] },
    { run: ["options", "stream"], prints: ["encryption_key", "secret"] },
    { run: ["options", "user"], prints: ["username", "status"] },
    {
      run: ["snapshot", "-s", "test", "resource_usage", "-o", home],
      prints: ["File Path"],
      leaves: async () =>
        (await readdir(home)).some((file) => file.endsWith(".zip")) ? undefined : "no archive was written",
    },
    { run: ["me"], as: account("nobody-here", "wrong password"), exits: [1], fails: "Problem with server login" },
    { run: ["me"], as: server, exits: [1], fails: "Missing iggy server credentials" },

    { run: ["stream", "create", stream], prints: [`Stream with name: ${stream}`] },
    { run: ["stream", "create", stream], exits: [1], fails: "already exists" },
    { run: ["stream", "list", "-l", "list"], prints: [stream] },
    { run: ["stream", "update", stream, "--name", `${stream}-new`], prints: ["updated"] },
    { run: ["stream", "get", stream], prints: ["was not found"] },
    { run: ["stream", "update", `${stream}-new`, "--name", stream], prints: ["updated"] },
    {
      run: ["stream", "get", stream],
      prints: [stream, "Encryption source"],
      finds: { streamId: /Stream ID +\| (\d+)/ },
    },
    { run: ({ streamId }) => ["stream", "get", streamId], prints: [stream] },

    {
      run: ["topic", "create", ...target, "2", "none", "1day", "--set", "segment_size=16MiB"],
      prints: ["Topic with name: events, partitions count: 2", "message expiry: 1day"],
    },
    {
      run: ["topic", "create", stream, "refused", "1", "none", "--set", "no_such_key=1"],
      exits: [1],
      fails: "option key",
    },
    { run: ["topic", "list", stream, "-l", "list"], prints: ["events|"], never: ["refused"] },
    {
      run: ["topic", "update", ...target, "-n", "renamed", "-m", "20GB"],
      prints: ["updated", "max topic size: 20.00 GB"],
    },
    {
      run: ["topic", "update", stream, "renamed", "-n", topic, "-r", "max_topic_size"],
      prints: ["reset: max_topic_size"],
    },
    {
      run: ["topic", "get", ...target],
      prints: ["1day", /segment_size\s*\|\s*16777216\s*\|\s*explicit/, /max_topic_size.*default/],
    },
    { run: ["topic", "get", stream, "missing"], prints: ["was not found"] },
    { run: ["partition", "create", ...target, "2"], prints: ["Created 2 partitions"] },
    { run: ["partition", "delete", ...target, "1"], prints: ["Deleted 1 partition"] },
    { run: ["partition", "delete", ...target, "50"], exits: [1] },
    { run: ["topic", "get", ...target], prints: [/Partitions count +\| 3/] },

    { run: ["message", "send", ...target, "-p", "0", "first", "second"] },
    { run: ["message", "send", ...target, "-p", "0", "-H", "kind:string:greeting", "third"] },
    { run: ["message", "send", ...target, "-p", "1"], input: "a line\nanother line\n" },
    { run: ["message", "send", ...target, "-m", "some key", "keyed"] },
    { run: ["message", "send", ...target, "balanced"] },
    { run: ["message", "send", ...target, "-p", "9", "nowhere"], exits: [1] },
    {
      run: ["message", "poll", "--first", "-m", "10", "-s", ...target, "0"],
      prints: ["first", "second", "third", "greeting"],
    },
    {
      run: ["message", "poll", "--offset", "1", "-m", "1", ...target, "0"],
      prints: ["second"],
      never: ["first", "third"],
    },
    { run: ["message", "poll", "--first", "-m", "2", ...target, "1"], prints: ["a line", "another line"] },
    {
      run: ["message", "poll", "--next", "-a", "-m", "2", "-c", "tester", ...target, "0"],
      prints: ["first", "second"],
    },
    { run: ["message", "poll", "--next", "-c", "tester", ...target, "0"], prints: ["third"] },

    { run: ["consumer-offset", "get", "tester", ...target, "0"], prints: [/Stored offset +\| 1\b/] },
    { run: ["consumer-offset", "set", "tester", ...target, "0", "0"], prints: ["set to 0"] },
    { run: ["consumer-offset", "set", "tester", ...target, "0", "1000"], exits: [1] },
    { run: ["consumer-offset", "get", "nobody", ...target, "0"], prints: ["was not found"] },
    { run: ["segment", "delete", ...target, "0", "1"], prints: ["Deleted 1 segment"] },

    { run: ["consumer-group", "create", ...target, "workers"], prints: ["name: workers created"] },
    { run: ["consumer-group", "list", ...target, "-l", "list"], prints: ["workers"] },
    { run: ["consumer-group", "get", ...target, "workers"], prints: ["workers", /Members count +\| 0/] },
    { run: ["consumer-offset", "set", "-k", "eg", "workers", ...target, "0", "1000"], prints: ["set to 1000"] },
    { run: ["consumer-offset", "get", "-k", "eg", "workers", ...target, "0"], prints: [/Stored offset +\| 1000/] },
    { run: ["consumer-group", "delete", ...target, "workers"], prints: ["deleted"] },

    {
      run: ({ streamId }) => ["user", "create", user, "secret", "-s", `${streamId}:read_stream,poll_messages`],
      prints: [`User with username: ${user} created`],
    },
    { run: ["user", "get", user], prints: ["Poll Messages", "Read Stream"] },
    { run: ["user", "list", "-l", "list"], prints: [user, "iggy"] },
    { run: ["message", "poll", "--first", ...target, "0"], as: account(user, "secret"), prints: ["first"] },
    {
      run: ["message", "send", ...target, "-p", "0", "denied"],
      as: account(user, "secret"),
      exits: [1],
      fails: "Unauthorized",
    },
    { run: ["stream", "create", `${stream}-denied`], as: account(user, "secret"), exits: [1], fails: "Unauthorized" },
    { run: ["user", "permissions", user, "-g", "send_messages"], prints: ["updated"] },
    { run: ["message", "send", ...target, "-p", "0", "allowed"], as: account(user, "secret") },
    { run: ["user", "password", user, "secret", "another secret"], prints: ["changed"] },
    { run: ["user", "status", user, "inactive"], prints: ["updated with status: inactive"] },
    { run: ["me"], as: account(user, "another secret"), exits: [1], fails: "Problem with server login" },
    { run: ["user", "delete", user], prints: ["deleted"] },

    { run: ["pat", "create", token], prints: ["Token: "], finds: { token: /Token: (\S+)/ } },
    { run: ["me"], as: ({ token: secret }) => [...server, "-t", secret], prints: ["Client ID"] },
    { run: ["pat", "list", "-l", "list"], prints: [`${token}|unlimited`] },
    // Without a keyring on the machine the CLI reports a failure after the server deleted the token.
    { run: ["pat", "delete", token], exits: [0, 1] },
    { run: ["pat", "list", "-l", "list"], never: [token] },

    {
      run: ["context", "create", "interop", "--tcp-server-address", server[1], "-u", "iggy"],
      as: [],
      prints: ["created"],
    },
    { run: ["context", "list", "-l", "list"], as: [], prints: ["interop"] },
    {
      run: ["metadata", "changes", "--groups", "streams,topics"],
      prints: ['"status":"ok"', stream, '"kind":"topic_created"'],
    },
    {
      run: ["metadata", "changes", "--from", "current", "--groups", "topics"],
      prints: ['"phase":"current"', '"name":"events"'],
    },
    { run: ["topic", "delete", ...target], prints: ["deleted"] },
    { run: ["stream", "delete", stream], prints: ["deleted"] },
    { run: ["stream", "delete", stream], exits: [1] },
  ];
}

function execute(program, words, home, input = "") {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("IGGY_"));
  const env = { ...Object.fromEntries(inherited), IGGY_HOME: join(home, "contexts") };
  const started = Date.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd: home, env, timeout: COMMAND_LIMIT_MS, killSignal: "SIGKILL" });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (chunk) => (stdout += String(chunk)));
    child.stderr.on("data", (chunk) => (stderr += String(chunk)));
    child.once("error", reject);
    child.once("close", (status, signal) => {
      resolve({ status: status ?? signal, stdout, stderr, elapsedMs: Date.now() - started });
    });
    // A command may end without reading what it was given.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}

/** What is wrong with the outcome of a step, or undefined. Keeps what the step finds. */
function fault({ exits = [0], prints = [], never = [], fails, finds = {} }, { status, stdout, stderr }, found) {
  const tail = (text) => text.trim().split("\n").slice(-3).join(" / ");
  if (!exits.includes(status))
    return `exit status ${status} instead of ${exits.join(" or ")}: ${tail(stderr || stdout)}`;
  if (fails !== undefined && !stderr.includes(fails)) return `stderr lacks "${fails}": ${tail(stderr)}`;
  const lacking = prints.find((wanted) => !matches(stdout, wanted));
  if (lacking !== undefined) return `stdout lacks ${String(lacking)}: ${tail(stdout)}`;
  const unwanted = never.find((text) => matches(stdout, text));
  if (unwanted !== undefined) return `stdout has "${unwanted}"`;
  for (const [name, pattern] of Object.entries(finds)) {
    const value = pattern.exec(stdout)?.[1];
    if (value === undefined) return `stdout has no ${name}: ${tail(stdout)}`;
    found[name] = value;
  }
  return undefined;
}

function matches(text, wanted) {
  return wanted instanceof RegExp ? wanted.test(text) : text.includes(wanted);
}
