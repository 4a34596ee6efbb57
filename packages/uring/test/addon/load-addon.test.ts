import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cLibraryOf } from "../../src/addon/index.js";
import { type AddonPlace, loadAddon, probe } from "../../src/index.js";
import { withAddon } from "../support/uring.js";

const place: AddonPlace = {
  platform: "linux",
  arch: "x64",
  cLibrary: "glibc",
  root: "/package",
  exists: () => false,
  load: () => {
    throw new Error("not to be loaded");
  },
};

describe("loading the addon", () => {
  test("names another system", () => {
    expect(loadAddon({ ...place, platform: "darwin" })).toMatchObject({
      addon: undefined,
      reason: "io_uring needs Linux, this is darwin",
    });
  });

  test("says that there is none for this machine, and how to get one", () => {
    expect(loadAddon({ ...place, arch: "riscv64", cLibrary: "musl" })).toMatchObject({
      reason: "there is no native addon for linux-riscv64 with musl, and none was built at installation",
      remedy: expect.stringContaining("npm rebuild @iggy/uring") as string,
    });
  });

  test("looks for one that was built here, then for the one of this C library only", () => {
    const tried: string[] = [];
    loadAddon({
      ...place,
      cLibrary: "musl",
      exists: (path) => {
        tried.push(path);
        return false;
      },
    });
    expect(tried).toEqual(["/package/build/Release/uring.node", "/package/prebuilds/linux-x64/uring.musl.node"]);
  });

  test("names the wrong C library as the cause", () => {
    const load = (): unknown => {
      throw new Error("Error loading shared library ld-linux-x86-64.so.2: No such file or directory");
    };
    const { reason } = loadAddon({ ...place, exists: () => true, load }) as { reason: string };
    expect(reason).toContain("was built for another C library");
    expect(reason.split("\n").length).toBe(1);
  });

  test("refuses one of another revision", () => {
    const { reason } = loadAddon({ ...place, exists: () => true, load: () => ({ revision: -1 }) }) as {
      reason: string;
    };
    expect(reason).toContain("is not of revision");
  });

  withAddon("a real file", () => {
    let root: string;
    beforeAll(() => {
      root = mkdtempSync(join(tmpdir(), "iggy-uring-addon-"));
    });
    afterAll(() => rmSync(root, { recursive: true }));

    test("that is damaged is named with the cause", () => {
      const file = join(root, "damaged.node");
      writeFileSync(file, "not an addon");
      const load = createRequire(import.meta.url);
      const { reason } = loadAddon({ ...place, root, exists: existsSync, load: () => load(file) as unknown }) as {
        reason: string;
      };
      expect(reason).toMatch(/no native addon/);
      const found = loadAddon({ ...place, exists: () => true, load: () => load(file) as unknown }) as {
        reason: string;
      };
      expect(found.reason).toContain("damaged.node");
    });

    test("in a prebuilt folder is found by its name", () => {
      const loaded = loadAddon();
      if (loaded.addon === undefined) return;
      const asked: string[] = [];
      const copy = join(root, "copy.node");
      copyFileSync(loaded.path, copy);
      const result = loadAddon({
        ...place,
        root,
        exists: (path) => path.endsWith("uring.glibc.node"),
        load: (path) => {
          asked.push(path);
          return createRequire(import.meta.url)(copy) as unknown;
        },
      });
      expect(result.addon).toBeDefined();
      expect(asked).toEqual([join(root, "prebuilds/linux-x64/uring.glibc.node")]);
    });
  });
});

describe("the C library of a program", () => {
  test("is read from its interpreter", () => {
    if (process.platform !== "linux") return;
    expect(["glibc", "musl"]).toContain(cLibraryOf());
  });

  test("is unknown for what is no program", () => {
    expect(cLibraryOf("/none")).toBe("unknown");
    expect(cLibraryOf(new URL(import.meta.url).pathname)).toBe("unknown");
  });
});

describe("a probe", () => {
  const refusing = (code: string) => () => ({
    path: "",
    addon: {
      ringOpen: () => {
        throw Object.assign(new Error(`${code}: refused`), { code, syscall: "io_uring_setup" });
      },
    } as never,
  });
  const files =
    (contents: Partial<Record<string, string>>) =>
    (path: string): string | undefined =>
      contents[path];

  test.each([
    ["ENOSYS", {}, /the kernel has no io_uring, or a seccomp filter hides it/, /Linux 5\.19/],
    ["EPERM", {}, /seccomp filter or security module forbids/, /seccomp profile/],
    ["EPERM", { "/proc/sys/kernel/io_uring_disabled": "0\n" }, /seccomp filter/, /seccomp profile/],
    [
      "EPERM",
      { "/proc/sys/kernel/io_uring_disabled": "2\n" },
      /io_uring_disabled is 2/,
      /sysctl kernel.io_uring_disabled=0/,
    ],
    [
      "ENOMEM",
      { "/proc/self/limits": "Max locked memory         65536     65536    bytes\n" },
      /limited to 65536 bytes/,
      /ulimit -l/,
    ],
    ["EINVAL", {}, /too old/, /5\.19/],
    ["EMFILE", {}, /too many files/, /ulimit -n/],
    ["EWHAT", {}, /can't be opened: EWHAT/, /libuv/],
  ])("explains %s", (code, contents, reason, remedy) => {
    const found = probe(refusing(code), files(contents));
    expect(found).toMatchObject({ addon: true, ring: false });
    expect(found.reason).toMatch(reason);
    expect(found.remedy).toMatch(remedy);
    expect(`${found.reason}${found.remedy}`).not.toContain("\n");
  });

  test("passes on why there is no addon", () => {
    expect(probe(() => ({ addon: undefined, reason: "because", remedy: "do" }))).toEqual({
      addon: false,
      ring: false,
      reason: "because",
      remedy: "do",
    });
  });
});
