// `npm run soak -- --minutes 30`: a server under a mixed load in a directory that retention keeps small. Samples it every
// second, prints a table of the thirds of the run, and fails when memory, descriptors or disk use go on growing or when
// anything went wrong. `--directory PATH` says where the data goes, `--pause MS` makes the load lighter.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureBuilt, ensureInstalled, fail, requireNode, root } from "./workspace.mjs";

const SECOND = 1000;
const MIB = 1024 * 1024;
/** Left out of the comparison: caches fill and the code gets compiled. */
const WARM_UP_SHARE = 0.1;
/** By how much the last third may exceed the middle one: a share, and something for the steps in which it moves. */
const MARGINS = {
  "resident MiB": { share: 0.1, plus: 24 },
  "heap MiB": { share: 0.2, plus: 12 },
  descriptors: { share: 0.1, plus: 16 },
  "disk MiB": { share: 0.25, plus: 64 },
};
const REPORT_EVERY_SECONDS = 30;
const ERRORS_SHOWN = 5;
const START_WAIT = 60 * SECOND;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    directory: { type: "string", default: tmpdir() },
    pause: { type: "string", default: "20" },
  },
});
const minutes = Number(values.minutes);
const pauseMillis = Number(values.pause);
if (!(minutes > 0) || !(pauseMillis >= 0)) fail("usage: npm run soak -- [--minutes N] [--directory PATH] [--pause MS]");

requireNode();
await ensureInstalled();
await ensureBuilt();
const { CommitPolicy, connect, Consumer, Partitioning, PollingStrategy } =
  await import("../packages/sdk/dist/index.js");

const scratch = mkdtempSync(join(values.directory, "iggy-soak-"));
const data = join(scratch, "data");
const memoryFile = join(scratch, "memory.json");
const sleep = (millis) => new Promise((wake) => setTimeout(wake, millis));

// ---- the server

let output = "";
const server = startServer();
// A failing soak leaves no server behind.
process.once("exit", () => server.kill("SIGKILL"));
const ended = new Promise((resolve) => server.once("exit", (code, signal) => resolve(code ?? signal)));

function startServer() {
  // Only the process itself knows its heap.
  const probe =
    'import{renameSync,writeFileSync}from"node:fs";const to=process.env.SOAK_MEMORY_FILE;setInterval(()=>{' +
    'writeFileSync(to+".tmp",JSON.stringify(process.memoryUsage()));renameSync(to+".tmp",to)},1000).unref()';
  const main = join(root, "apps/server/dist/main.js");
  const foreign = Object.entries(process.env).filter(([name]) => !name.startsWith("IGGY_"));
  const child = spawn(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(probe)}`, main], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...Object.fromEntries(foreign),
      IGGY_PATH: data,
      IGGY_ROOT_USERNAME: "iggy",
      IGGY_ROOT_PASSWORD: "iggy",
      IGGY_TCP_ADDRESS: "127.0.0.1:0",
      IGGY_WEBSOCKET_ADDRESS: "127.0.0.1:0",
      IGGY_QUIC_ADDRESS: "127.0.0.1:0",
      IGGY_HTTP_ADDRESS: "127.0.0.1:0",
      IGGY_LOGGING_FILE_ENABLED: "false",
      IGGY_DATA_MAINTENANCE_MESSAGES_INTERVAL: "1s",
      SOAK_MEMORY_FILE: memoryFile,
    },
  });
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => take(String(text)));
  return child;
}

function take(text) {
  if (!output.includes("ready:")) output += text;
  for (const line of text.split("\n")) {
    if (/"level":"(error|fatal)"/.test(line)) note("the server's log", line.slice(0, 300));
  }
}

async function address() {
  for (const startedAt = Date.now(); Date.now() - startedAt < START_WAIT && server.exitCode === null; await sleep(50)) {
    const found = /ready: clients connect to ([^ ]+) /.exec(output);
    if (found !== null) return found[1];
  }
  fail(`The server does not come up:\n${output}`);
}

// ---- what is counted

const done = { sent: 0, read: 0, offsets: 0, topics: 0, rejoined: 0 };
const errors = [];
let errorsCount = 0;

function note(where, error) {
  errorsCount++;
  if (errors.length < ERRORS_SHOWN) errors.push(`${where}: ${error instanceof Error ? error.message : error}`);
}

function sample() {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  const heap = existsSync(memoryFile) ? JSON.parse(readFileSync(memoryFile, "utf8")).heapUsed : 0;
  return {
    "resident MiB": Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
    "heap MiB": heap / MIB,
    descriptors: readdirSync(`/proc/${server.pid}/fd`).length,
    "disk MiB": diskBytes(data) / MIB,
  };
}

function diskBytes(directory) {
  let sum = 0;
  for (const entry of entriesOf(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) sum += diskBytes(path);
    else if (entry.isFile()) sum += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }
  return sum;
}

/** Files and directories may go while they are counted. */
function entriesOf(directory) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

// ---- the load

const run = { isOver: false };
const STREAM = "soak";
const topics = {
  small: { partitionCount: 2, segmentSize: "1 MiB", messageExpiry: "10 s" },
  large: { partitionCount: 2, segmentSize: "4 MiB", messageExpiry: "10 s" },
  safe: {
    partitionCount: 2,
    segmentSize: "1 MiB",
    messageExpiry: "10 s",
    durability: "persisted",
    consumerOffsetDurability: "persisted",
  },
};
const producers = [
  { topic: "small", partitionId: 0, count: 1, bytes: 100 },
  { topic: "small", partitionId: 1, count: 50, bytes: 500 },
  { topic: "large", partitionId: 0, count: 1000, bytes: 200 },
  { topic: "large", partitionId: 1, count: 250, bytes: 1000 },
  { topic: "safe", partitionId: 0, count: 1, bytes: 300 },
  { topic: "safe", partitionId: 1, count: 100, bytes: 300 },
];

/** Does a thing over and over until the run is over. What it throws is an error of the run. */
async function repeat(name, work, pause = pauseMillis) {
  while (!run.isOver) {
    try {
      await work();
    } catch (error) {
      if (!run.isOver) note(name, error);
      await sleep(SECOND);
    }
    if (pause > 0) await sleep(pause);
  }
}

function produce(client, { topic, partitionId, count, bytes }) {
  const payload = "x".repeat(bytes);
  return repeat(`producer of ${topic}/${partitionId}`, async () => {
    await client.message.send({
      streamId: STREAM,
      topicId: topic,
      partition: Partitioning.PartitionId(partitionId),
      messages: Array.from({ length: count }, () => ({ payload })),
    });
    done.sent += count;
  });
}

/** Reads a partition behind its producer. Its stored offset holds retention back, so that nothing may be skipped. */
function consume(client, { topic, partitionId }) {
  let last;
  return repeat(
    `consumer of ${topic}/${partitionId}`,
    async () => {
      const { messages } = await client.message.poll({
        streamId: STREAM,
        topicId: topic,
        partitionId,
        consumer: Consumer.Named("reader"),
        pollingStrategy: PollingStrategy.Next,
        options: { count: 2000, maxWait: "1 s", commit: CommitPolicy.OnRead },
      });
      for (const { headers } of messages) {
        if (last !== undefined && headers.offset !== last + 1n)
          throw new Error(`offset ${headers.offset} follows ${last}`);
        last = headers.offset;
      }
      done.read += messages.length;
    },
    0,
  );
}

/** A member of a group, for a while at a time, so that partitions change hands. */
function belong(client, topic, seconds) {
  return repeat(`member of a group of ${topic}`, async () => {
    const consumer = client.consumerGroup({
      streamId: STREAM,
      topicId: topic,
      name: "members",
      pollOptions: { commit: CommitPolicy.Auto({ interval: "1s" }) },
    });
    const until = Date.now() + seconds * SECOND;
    const timer = setTimeout(
      () => void consumer.close().catch((error) => note("leaving a group", error)),
      seconds * SECOND,
    );
    for await (const { message } of consumer) {
      done.read += message === undefined ? 0 : 1;
      if (run.isOver || Date.now() > until) break;
    }
    clearTimeout(timer);
    await consumer.close();
    done.rejoined++;
  });
}

function storeOffsets(client) {
  let turn = 0;
  return repeat("stored offsets", async () => {
    const target = {
      streamId: STREAM,
      topicId: "safe",
      partitionId: 1,
      consumer: Consumer.Named(100 + (turn++ % 200)),
    };
    // A stored offset holds segments back, so each is deleted again.
    await client.offset.store({ ...target, offset: 0n });
    await client.offset.get(target);
    await client.offset.delete(target);
    done.offsets += 2;
  });
}

function makeAndDelete(client) {
  let number = 0;
  return repeat(
    "topics that come and go",
    async () => {
      const topicId = `passing ${number++}`;
      await client.topic.create({ streamId: STREAM, name: topicId, partitionCount: 3, segmentSize: "1 MiB" });
      for (let partitionId = 0; partitionId < 3; partitionId++) {
        const place = { streamId: STREAM, topicId };
        await client.message.send({
          ...place,
          partition: Partitioning.PartitionId(partitionId),
          messages: [{ payload: `for ${topicId}` }],
        });
      }
      await client.topic.delete({ streamId: STREAM, topicId });
      done.topics++;
    },
    10 * pauseMillis,
  );
}

// ---- the run

const url = `iggy://iggy:iggy@${await address()}`;
const clients = await Promise.all(Array.from({ length: 5 }, () => connect(url)));
const [setUp, sending, reading, grouped, rest] = clients;
await setUp.stream.ensure({ name: STREAM });
for (const [name, options] of Object.entries(topics)) await setUp.topic.ensure({ streamId: STREAM, name, ...options });
// Every partition holds something before offsets are stored in it.
for (const { topic, partitionId } of producers) {
  const partition = Partitioning.PartitionId(partitionId);
  await setUp.message.send({ streamId: STREAM, topicId: topic, partition, messages: [{ payload: "first" }] });
}
const load = [
  ...producers.map((producer) => produce(sending, producer)),
  ...producers.map((producer) => consume(reading, producer)),
  belong(grouped, "small", 15),
  belong(setUp, "small", 25),
  storeOffsets(rest),
  makeAndDelete(rest),
];

console.log(`soak: ${minutes} minutes in ${scratch}`);
const samples = [];
const startedAt = Date.now();
for (let second = 1; Date.now() - startedAt < minutes * 60 * SECOND && server.exitCode === null; second++) {
  await sleep(Math.max(0, startedAt + second * SECOND - Date.now()));
  const taken = sample();
  samples.push(taken);
  if (second % REPORT_EVERY_SECONDS === 0) {
    const facts = Object.entries(taken).map(([name, value]) => `${name} ${value.toFixed(0)}`);
    console.log(`soak: ${second} s, ${facts.join(", ")}, ${done.sent} sent, ${done.read} read, ${errorsCount} errors`);
  }
}
run.isOver = true;
const seconds = (Date.now() - startedAt) / SECOND;
await Promise.race([Promise.all(load), sleep(30 * SECOND)]);
await Promise.allSettled(clients.map((client) => client.close()));
if (server.exitCode !== null) note("the server", `ended by itself with ${server.exitCode}`);
server.kill("SIGTERM");
const status = await ended;
if (status !== 0) note("the stop", `ended with ${status}`);
rmSync(scratch, { recursive: true });
process.exit(verdict() ? 0 : 1);

function verdict() {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP_SHARE));
  const third = Math.floor(warm.length / 3);
  const thirds = [warm.slice(0, third), warm.slice(third, 2 * third), warm.slice(2 * third)];
  const mean = (part, name) => part.reduce((sum, taken) => sum + taken[name], 0) / Math.max(1, part.length);
  let passed = errorsCount === 0 && third > 0;
  console.log(
    `\n${"".padEnd(14)}${["first third", "middle", "last", "allowed", "peak"].map((head) => head.padStart(12)).join("")}`,
  );
  for (const [name, { share, plus }] of Object.entries(MARGINS)) {
    const means = thirds.map((part) => mean(part, name));
    const allowed = means[1] * (1 + share) + plus;
    const peak = Math.max(...samples.map((taken) => taken[name]));
    const isFine = means[2] <= allowed;
    passed &&= isFine;
    const row = [...means, allowed, peak].map((value) => value.toFixed(1).padStart(12)).join("");
    console.log(`${name.padEnd(14)}${row}${isFine ? "" : "  GROWS"}`);
  }
  const rates = `${Math.round(done.sent / seconds)} messages/s sent, ${Math.round(done.read / seconds)} read`;
  console.log(
    `\n${rates}; ${done.offsets} offset writes, ${done.topics} topics made and deleted, ${done.rejoined} memberships`,
  );
  for (const error of errors) console.log(`error: ${error}`);
  console.log(`soak: ${passed ? "passed" : "FAILED"}, ${errorsCount} errors`);
  return passed;
}
