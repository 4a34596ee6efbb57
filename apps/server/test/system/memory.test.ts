import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMemory, type Memory } from "../../src/system/memory.js";
import { KernelFiles, parseCoreList } from "../../src/system/proc.js";
import { isInContainer } from "../../src/system/container.js";
import { readHostIdentity } from "../../src/system/host.js";

const MIB = 2 ** 20;
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "iggy-proc-"));
});
afterEach(() => rm(root, { recursive: true }));

async function tree(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

const meminfo = { "proc/meminfo": "MemTotal:        8388608 kB\nMemFree: 1 kB\nMemAvailable:    4194304 kB\n" };
const host: Memory = { totalBytes: 8192 * MIB, availableBytes: 4096 * MIB };

describe("memory this process may use", () => {
  const cases: readonly [name: string, files: Readonly<Record<string, string>>, expected: Memory][] = [
    ["is the host's without cgroups", {}, host],
    [
      "is the limit of a unified cgroup, less what cannot be reclaimed",
      {
        "proc/self/cgroup": "0::/system.slice/iggy.service\n",
        "sys/fs/cgroup/system.slice/iggy.service/memory.max": `${512 * MIB}\n`,
        "sys/fs/cgroup/system.slice/iggy.service/memory.current": `${300 * MIB}\n`,
        "sys/fs/cgroup/system.slice/iggy.service/memory.stat": `anon 1\ninactive_file ${100 * MIB}\n`,
      },
      { totalBytes: 512 * MIB, availableBytes: 312 * MIB },
    ],
    [
      "is the tightest limit on the way to the root",
      {
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/b/memory.max": `${1024 * MIB}\n`,
        "sys/fs/cgroup/a/memory.max": `${256 * MIB}\n`,
        "sys/fs/cgroup/a/memory.current": `${56 * MIB}\n`,
      },
      { totalBytes: 256 * MIB, availableBytes: 200 * MIB },
    ],
    [
      "is found at the mount when a container sees only its own part",
      { "proc/self/cgroup": "0::/hidden/elsewhere\n", "sys/fs/cgroup/memory.max": `${128 * MIB}\n` },
      { totalBytes: 128 * MIB, availableBytes: 128 * MIB },
    ],
    [
      "is the limit of a legacy cgroup",
      {
        "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n",
        "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": `${64 * MIB}\n`,
        "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": `${60 * MIB}\n`,
        "sys/fs/cgroup/memory/docker/abc/memory.stat": `inactive_file 7\ntotal_inactive_file ${10 * MIB}\n`,
      },
      { totalBytes: 64 * MIB, availableBytes: 14 * MIB },
    ],
    [
      "is the host's when the legacy limit is the kernel's largest number",
      {
        "proc/self/cgroup": "4:memory:/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      },
      host,
    ],
    ["is the host's without a limit", { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n" }, host],
    [
      "is the host's when the limit is above it",
      { "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": `${9000 * MIB}\n` },
      host,
    ],
    [
      "is never below zero",
      {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": `${10 * MIB}\n`,
        "sys/fs/cgroup/memory.current": `${11 * MIB}\n`,
      },
      { totalBytes: 10 * MIB, availableBytes: 0 },
    ],
  ];
  it.each(cases)("%s", async (_, files, expected) => {
    await tree({ ...meminfo, ...files });
    expect(await readMemory(new KernelFiles(root))).toEqual(expected);
  });

  it("comes from the runtime where there are no kernel files", async () => {
    const memory = await readMemory(new KernelFiles(root));
    expect(memory.totalBytes).toBeGreaterThan(64 * MIB);
    expect(memory.availableBytes).toBeGreaterThan(0);
    expect(memory.availableBytes).toBeLessThanOrEqual(memory.totalBytes);
  });
});

describe("container", () => {
  it.each([
    ["a marker of docker", { ".dockerenv": "" }, {}],
    ["a marker of podman", { "run/.containerenv": "" }, {}],
    ["a variable", {}, { container: "lxc" }],
    ["a variable of kubernetes", {}, { KUBERNETES_SERVICE_HOST: "10.0.0.1" }],
    ["a cgroup", { "proc/self/cgroup": "4:memory:/kubepods/besteffort/pod1\n" }, {}],
  ])("is recognised by %s", async (_, files, environment) => {
    await tree(files);
    expect(isInContainer(environment, root)).toBe(true);
  });

  it("is not seen on a plain host", async () => {
    expect(isInContainer({ container: "" }, root)).toBe(false);
    await tree({ "proc/self/cgroup": "0::/user.slice/session-1.scope\n" });
    expect(isInContainer({}, root)).toBe(false);
  });
});

describe("host identity", () => {
  it("reads the release file in each of its quotings", async () => {
    await tree({ "etc/os-release": "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID='3.20'\n" });
    expect(await readHostIdentity(new KernelFiles(root))).toMatchObject({ osName: "Alpine Linux", osVersion: "3.20" });
  });

  it("never has an empty text", async () => {
    await tree({ "etc/os-release": 'NAME=""\nVERSION_ID=\n' });
    const identity = await readHostIdentity(new KernelFiles(root));
    expect(identity.osName).toBe("unknown_os_name");
    expect(identity.osVersion).toBe("unknown_os_version");
    for (const text of Object.values(identity) as string[]) expect(text).not.toBe("");
  });
});

it.each([
  ["0-3", [0, 1, 2, 3]],
  ["0,2,4-5\n", [0, 2, 4, 5]],
  ["7", [7]],
  ["", []],
  ["x-y", []],
])("core list %j", (text, cores) => {
  expect(parseCoreList(text)).toEqual(cores);
});
