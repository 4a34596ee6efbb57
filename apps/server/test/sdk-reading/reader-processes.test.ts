import { Client, CommitPolicy, Partitioning } from "@iggy/sdk";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type RunningServer, startServer } from "../start-server.js";
import { ReaderProgram } from "./reader-program.js";

/* Processes that read: they end by themselves, and come back after they were stopped. */

let server: RunningServer;
beforeAll(async () => {
  server = await startServer({ config: { "heartbeat.interval": "1s" } });
  await using client = new Client(server.connectionString);
  await client.stream.ensure("programs");
  await client.topic.ensure("programs", "t", 2);
  await client.message.send({ streamId: "programs", topicId: "t", messages: [{ payload: "x" }, { payload: "y" }] });
});
afterAll(() => server.close());

const url = () => `${server.connectionString}?heartbeat_interval=200ms`;

const programs: [string, string][] = [
  [
    "opened, read from and closed in the same turn",
    "const c = group(); const next = c.next(); await Promise.all([next, c.close()]); await client.close();",
  ],
  ["closed inside its loop", "const c = group(); for await (const r of c) await c.close(); await client.close();"],
  [
    "closed inside its handler",
    "const c = group(); await c.handle(async () => { await c.close(); }); await c.close(); await client.close();",
  ],
  [
    "left by an exception",
    "const c = group(); try { for await (const r of c) throw new Error('no'); } catch {} finally { await c.close(); } await client.close();",
  ],
  [
    "a feed that is left",
    "for await (const e of client.metadata.changes({ from: 'earliest' })) break; await client.close();",
  ],
];

test.each(programs)("%s: the process ends by itself", { timeout: 60_000 }, async (_what, body) => {
  const program = new ReaderProgram(url(), body);
  const code = await program.ended();
  const lingeredMs = performance.now() - program.doneAt;
  expect(program.output.trim()).toBe("done");
  expect(code).toBe(0);
  expect(lingeredMs).toBeLessThan(2000);
});

test(
  "one that was stopped for longer than its lease joins again by itself, and nothing is lost",
  { timeout: 90_000 },
  async () => {
    await using client = new Client(url());
    const place = { streamId: "programs", topicId: "t" };
    const send = (texts: readonly string[]) =>
      Promise.all(
        [0, 1].map((partition) =>
          client.message.send({
            ...place,
            partition: Partitioning.PartitionId(partition),
            messages: texts.map((text) => ({ payload: `${text}-${String(partition)}` })),
          }),
        ),
      );
    const program = new ReaderProgram(
      url(),
      "const c = group(); c.on('rejoined', () => console.log('rejoined')); await c.handle(({ message }) => console.log('got ' + message.text()));",
    );
    try {
      await send(["before"]);
      await vi.waitFor(() => expect(program.output).toContain("got before-1"), { timeout: 30_000 });
      program.child.kill("SIGSTOP");
      // Another member takes over what it held.
      const seen: string[] = [];
      const other = client.consumerGroup({
        ...place,
        name: "group",
        pollOptions: { maxWait: 500, commit: CommitPolicy.Auto({ interval: 50 }) },
      });
      const handling = other.handle(({ message }) => void seen.push(message.text()));
      await vi.waitFor(() => expect(other.partitions).toEqual([0, 1]), { timeout: 20_000 });
      await send(["meanwhile"]);
      await vi.waitFor(() => expect(seen).toEqual(expect.arrayContaining(["meanwhile-0", "meanwhile-1"])), {
        timeout: 20_000,
      });
      program.child.kill("SIGCONT");
      await vi.waitFor(() => expect(program.output).toContain("rejoined"), { timeout: 20_000 });
      await other.close();
      await handling;
      await send(["after"]);
      await vi.waitFor(
        () => {
          expect(program.output).toContain("got after-0");
          expect(program.output).toContain("got after-1");
        },
        { timeout: 20_000 },
      );
      expect(program.output.match(/rejoined/g)).toHaveLength(1);
    } finally {
      await program.kill();
    }
  },
);
