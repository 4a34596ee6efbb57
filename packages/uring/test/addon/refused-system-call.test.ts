import { spawnSync } from "node:child_process";
import { describe, expect, test, vi } from "vitest";
import type { Probe } from "../../src/index.js";
import { withRing } from "../support/uring.js";

const PROGRAM = new URL("probe-program.ts", import.meta.url).pathname;

/** Denies a system call to what it then runs, with an answer of choice: a seccomp filter, as containers have. */
const DENY = `
import ctypes, os, struct, sys
number, errno, argv = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
def step(code, jump_true, jump_false, value): return struct.pack("HBBI", code, jump_true, jump_false, value)
steps = step(0x20, 0, 0, 0) + step(0x15, 0, 1, number) + step(0x06, 0, 0, 0x00050000 | errno) + step(0x06, 0, 0, 0x7fff0000)
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(steps) // 8, steps)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(argv[0], argv)
`;
// Whole programs are started.
vi.setConfig({ testTimeout: 90_000 });

const SETUP = 425;
const ENTER = 426;
const REGISTER = 427;
const EPERM = 1;
const ENOSYS = 38;

const hasPython = spawnSync("python3", ["--version"]).status === 0;

withRing("a process that is refused", () => {
  const suite = hasPython ? describe : describe.skip;
  suite(hasPython ? "by a seccomp filter" : "by a seccomp filter (python3 is not installed)", () => {
    test.each([
      ["io_uring_setup", SETUP, EPERM, /io_uring_setup answers EPERM/],
      ["io_uring_setup", SETUP, ENOSYS, /io_uring_setup answers ENOSYS/],
      ["io_uring_enter", ENTER, EPERM, /io_uring_enter answers EPERM/],
    ])("%s (%i) with errno %i says so and ends well", (_name, number, errno, reason) => {
      const found = runProbe("python3", ["-c", DENY, String(number), String(errno), process.execPath]);
      expect(found).toMatchObject({ addon: true, ring: false });
      expect(found.reason).toMatch(reason);
      expect(found.remedy).not.toBe("");
    });

    test("only io_uring_register works: nothing here needs it", () => {
      const found = runProbe("python3", ["-c", DENY, String(REGISTER), String(EPERM), process.execPath]);
      expect(found).toEqual({ addon: true, ring: true, reason: "", remedy: "" });
    });
  });

  test("much locked memory has a ring all the same, or the reason", () => {
    const found = runProbe("sh", ["-c", 'ulimit -l 64 && exec "$@"', "sh", process.execPath]);
    if (!found.ring) expect(found.reason).toMatch(/locked memory is limited to 65536 bytes/);
  });
});

function runProbe(program: string, args: readonly string[]): Probe {
  const { stdout, stderr, status } = spawnSync(program, [...args, "--import", "tsx", PROGRAM], { encoding: "utf8" });
  if (status !== 0) throw new Error(`status ${String(status)}: ${stderr}`);
  return JSON.parse(stdout) as Probe;
}
