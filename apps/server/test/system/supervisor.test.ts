import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectSupervisor, type Supervisor } from "../../src/system/index.js";

let directory: string;
let supervisors: Supervisor[] = [];
let troubles: string[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iggy-notify-"));
  supervisors = [];
  troubles = [];
});
afterEach(async () => {
  for (const supervisor of supervisors) await supervisor.close();
  await rm(directory, { recursive: true });
});

/** A stand-in for systemd-notify that records its arguments, one line per call. */
async function connect(environment: Readonly<Record<string, string>> = {}, script?: string): Promise<Supervisor> {
  const program = join(directory, "systemd-notify");
  const record = script ?? `echo "$NOTIFY_SOCKET $*" >> ${join(directory, "told")}`;
  await writeFile(program, `#!/bin/sh\n${record}\n`);
  await chmod(program, 0o755);
  const supervisor = connectSupervisor(
    { NOTIFY_SOCKET: "/run/notify", PATH: `${directory}:/usr/bin:/bin`, ...environment },
    (message) => troubles.push(message),
  );
  supervisors.push(supervisor);
  return supervisor;
}

const told = async (): Promise<string[]> => {
  const text = await readFile(join(directory, "told"), "utf8").catch(() => "");
  return text.split("\n").slice(0, -1);
};
const message = (text: string): string => `/run/notify --pid=${process.pid} ${text}`;

describe("under systemd", () => {
  it("tells readiness once, the stop, and delivers both before the end", async () => {
    const supervisor = await connect();
    supervisor.ready();
    supervisor.ready();
    supervisor.status("graceful shutdown\ntimed out");
    supervisor.stopping();
    await supervisor.close();
    expect(await told()).toEqual([
      message("READY=1"),
      message("STATUS=graceful shutdown timed out"),
      message("STOPPING=1"),
    ]);
    expect(troubles).toEqual([]);
  });

  it("feeds the watchdog at half its period, from readiness on", async () => {
    const supervisor = await connect({ WATCHDOG_USEC: "100000", WATCHDOG_PID: String(process.pid) });
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect(await told()).toEqual([]);
    supervisor.ready();
    await expect
      .poll(async () => (await told()).filter((line) => line === message("WATCHDOG=1")).length)
      .toBeGreaterThan(2);
    await supervisor.close();
    const count = (await told()).length;
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect((await told()).length).toBe(count);
  });

  it.each([{ WATCHDOG_USEC: "20000", WATCHDOG_PID: "1" }, { WATCHDOG_USEC: "0" }, {}])(
    "leaves a watchdog alone that is not for this process: %j",
    async (environment) => {
      const supervisor = await connect(environment);
      supervisor.ready();
      await new Promise((resolve) => setTimeout(resolve, 100));
      await supervisor.close();
      expect(await told()).toEqual([message("READY=1")]);
    },
  );

  it("passes no secret of the environment to the helper", async () => {
    const supervisor = await connect({ IGGY_ROOT_PASSWORD: "hunter2" }, `env >> ${join(directory, "told")}`);
    supervisor.ready();
    await supervisor.close();
    expect((await told()).join("\n")).toContain("NOTIFY_SOCKET=/run/notify");
    expect((await told()).join("\n")).not.toContain("hunter2");
  });

  it("goes on without a supervisor that cannot be told, and says so once", async () => {
    const supervisor = await connect({}, "exit 3");
    supervisor.ready();
    await expect.poll(() => troubles.length).toBe(1);
    for (let index = 0; index < 100; index++) supervisor.status("x");
    await supervisor.close();
    expect(troubles).toHaveLength(1);
    expect(troubles[0]).toContain("not told anything more");
  });

  it("does not wait for ever for a helper that hangs", async () => {
    const supervisor = await connect({}, "sleep 60");
    supervisor.stopping();
    const start = Date.now();
    await supervisor.close();
    expect(Date.now() - start).toBeLessThan(3000);
  });

  it("says that the program is missing", () => {
    const supervisor = connectSupervisor({ NOTIFY_SOCKET: "/run/notify", PATH: directory }, (text) =>
      troubles.push(text),
    );
    supervisor.ready();
    expect(troubles).toEqual([expect.stringContaining("systemd-notify is not on PATH")]);
  });
});

it("without a socket nothing happens", async () => {
  const supervisor = connectSupervisor({ PATH: "/usr/bin:/bin" }, (text) => troubles.push(text));
  supervisor.ready();
  supervisor.status("x");
  supervisor.stopping();
  await supervisor.close();
  expect(troubles).toEqual([]);
});
