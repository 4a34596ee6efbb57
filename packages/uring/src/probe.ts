import { readFileSync } from "node:fs";
import { type Addon, loadAddon, type LoadedAddon } from "./addon/index.js";

/** What can be said about io_uring on this machine, in one line each. */
export interface Probe {
  /** The native addon is loaded. */
  readonly addon: boolean;
  /** A ring can be opened. */
  readonly ring: boolean;
  /** Why not; empty when there is nothing to say. */
  readonly reason: string;
  /** What would change that; empty when there is nothing to do. */
  readonly remedy: string;
}

/** Reads a small file of the system, undefined when it is not there. */
type ReadSystemFile = (path: string) => string | undefined;

const ENTRIES = 8;
const DISABLED_FILE = "/proc/sys/kernel/io_uring_disabled";
const LIMITS_FILE = "/proc/self/limits";

/** Tries to load the addon and to open a ring, and tells what stands in the way. Never throws. */
export function probe(load: () => LoadedAddon = loadAddon, readSystemFile: ReadSystemFile = readOrNothing): Probe {
  const loaded = load();
  if (loaded.addon === undefined) {
    return { addon: false, ring: false, reason: loaded.reason, remedy: loaded.remedy };
  }
  const refusal = tryRing(loaded.addon);
  if (refusal === undefined) return { addon: true, ring: true, reason: "", remedy: "" };
  return { addon: true, ring: false, ...explain(refusal, readSystemFile) };
}

interface Refusal {
  readonly code: string;
  readonly syscall: string;
  readonly message: string;
}

function tryRing(addon: Addon): Refusal | undefined {
  try {
    addon.ringClose(addon.ringOpen(ENTRIES, ENTRIES, () => undefined).id);
    return undefined;
  } catch (error) {
    const { code = "", syscall = "io_uring_setup", message = String(error) } = error as Partial<Refusal>;
    return { code, syscall, message };
  }
}

interface Explanation {
  readonly reason: string;
  readonly remedy: string;
}

function explain({ code, syscall, message }: Refusal, readSystemFile: ReadSystemFile): Explanation {
  switch (code) {
    case "ENOSYS":
      return {
        reason: `${syscall} answers ENOSYS: the kernel has no io_uring, or a seccomp filter hides it`,
        remedy: "use Linux 5.19 or newer and a container profile that allows the io_uring system calls",
      };
    case "EPERM":
    case "EACCES":
      return forbidden(code, syscall, readSystemFile(DISABLED_FILE)?.trim());
    case "ENOMEM":
      return {
        reason: `${syscall} answers ENOMEM: locked memory is limited to ${lockedMemory(readSystemFile)}`,
        remedy: "raise the limit: `ulimit -l unlimited`, LimitMEMLOCK=infinity, or --ulimit memlock=-1",
      };
    case "EINVAL":
      return {
        reason: `${syscall} answers EINVAL: the kernel's io_uring is too old`,
        remedy: "use Linux 5.19 or newer",
      };
    case "EMFILE":
    case "ENFILE":
      return {
        reason: `${syscall} answers ${code}: too many files are open`,
        remedy: "raise the limit: `ulimit -n`, LimitNOFILE, or --ulimit nofile",
      };
    default:
      return { reason: `a ring can't be opened: ${message}`, remedy: "set io.backend to libuv, and report this" };
  }
}

/** The sysctl: 0 allows, 1 asks for a group or CAP_SYS_ADMIN, 2 forbids. */
function forbidden(code: string, syscall: string, disabled: string | undefined): Explanation {
  if (disabled === "1" || disabled === "2") {
    return {
      reason: `${syscall} answers ${code}: the sysctl kernel.io_uring_disabled is ${disabled}`,
      remedy: "run `sysctl kernel.io_uring_disabled=0`",
    };
  }
  return {
    reason: `${syscall} answers ${code}: a seccomp filter or security module forbids io_uring`,
    remedy: "allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile",
  };
}

function lockedMemory(readSystemFile: ReadSystemFile): string {
  const limit = /^Max locked memory\s+(\S+)/m.exec(readSystemFile(LIMITS_FILE) ?? "")?.[1];
  if (limit === undefined) return "an unknown size";
  return limit === "unlimited" ? "no size, so the machine is out of memory" : `${limit} bytes`;
}

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Not there on every kernel.
    return undefined;
  }
}
