import { existsSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserProject, type Bundler, bundlers } from "./support/bundles.js";
import { LiveServer } from "./support/live-server.js";

/*
 * A page in a real browser, of another origin than the server, produces and consumes.
 */

const names = ["chromium", "chromium-browser", "google-chrome"];
const executablePath = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((folder) => names.map((name) => join(folder, name)))
  .find((path) => existsSync(path));

/** Sends and reads over one transport; what it tells is compared below. A further transport is a further entry. */
const page = `
  import { connect, Consumer, Partitioning, PollingStrategy } from "@iggy/sdk";

  async function produceAndConsume(config) {
    const client = await connect(config);
    const stream = await client.stream.ensure("browser");
    const topic = await client.topic.ensure({ streamId: stream.id, name: "t" + Math.random(), partitionCount: 1 });
    const place = { streamId: stream.id, topicId: topic.id };
    const large = new Uint8Array(5_000_000).map((_, at) => at % 251);
    const messages = [{ payload: "hello" }, { payload: large }, { payload: "grüße ✓" }];
    await client.message.send({ ...place, partition: Partitioning.PartitionId(0), messages });
    const polled = await client.message.poll({
      ...place,
      partitionId: 0,
      consumer: Consumer.Named("browser"),
      pollingStrategy: PollingStrategy.First,
      options: { count: 10, maxBytes: 10_000_000 },
    });
    const texts = polled.messages.map((message) => (message.payload.length > 100 ? "large" : message.text()));
    const kept = polled.messages[1].payload.every((byte, at) => byte === large[at]);

    const received = [];
    const consumer = client.consumer({ name: "live", ...place, partitions: [0] });
    const consuming = (async () => {
      for await (const { message } of consumer) {
        if (message.payload.length < 100) received.push(message.text());
        if (received.length === 3) break;
      }
    })();
    await client.message.send({ ...place, partition: Partitioning.PartitionId(0), messages: [{ payload: "live" }] });
    await consuming;
    const { protocol } = client.getConnectionInfo();
    await client.close();
    return { texts, kept, received, protocol };
  }

  globalThis.run = (config) => produceAndConsume(config).catch((error) => ({ error: String(error) }));
`;

describe.skipIf(executablePath === undefined)(`a page in a browser (needs one of ${names.join(", ")})`, () => {
  let browser: Browser;
  let server: LiveServer;
  let project: BrowserProject;
  let pages: Server;
  let script = "";

  beforeAll(async () => {
    server = await LiveServer.start();
    project = await BrowserProject.create(page);
    // Containers have no sandbox for it.
    browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });
    pages = createServer((request, response) => {
      const isScript = request.url === "/page.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>');
    });
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  }, 240_000);
  afterAll(async () => {
    await browser.close();
    pages.close();
    await project[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  /** Runs the page as a bundler made it. */
  async function run(bundler: Bundler, config: string): Promise<unknown> {
    script = (await project.bundle(bundler)).text;
    const tab = await browser.newPage();
    const complaints: string[] = [];
    tab.on("pageerror", (error) => complaints.push(String(error)));
    await tab.goto(`http://localhost:${String((pages.address() as AddressInfo).port)}/`);
    await tab.waitForFunction("typeof globalThis.run === 'function'");
    const outcome: unknown = await tab.evaluate(`globalThis.run(${JSON.stringify(config)})`);
    expect(complaints).toEqual([]);
    await tab.close();
    return outcome;
  }

  test.each(bundlers)(
    "bundled by %s produces and consumes over WebSocket",
    async (bundler) => {
      const outcome = await run(bundler, `iggy+ws://iggy:iggy@${server.addresses["websocket"] ?? ""}`);
      expect(outcome).toEqual({
        texts: ["hello", "large", "grüße ✓"],
        kept: true,
        received: ["hello", "grüße ✓", "live"],
        protocol: "ws",
      });
    },
    240_000,
  );

  test("is told in one error when nobody listens", async () => {
    const outcome = await run("esbuild", "iggy+ws://iggy:iggy@127.0.0.1:9?reconnection_retries=0");
    expect(outcome).toEqual({ error: expect.stringMatching(/no connection to ws:\/\/127\.0\.0\.1:9/) as string });
  });
});
