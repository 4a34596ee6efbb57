import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/index.js";

const MARKERS = [".dockerenv", "run/.containerenv"];
const VARIABLES = ["container", "KUBERNETES_SERVICE_HOST"];
const RUNTIMES = /docker|libpod|podman|kubepods|containerd|lxc/;

/** Whether the process seems to run in a container, where a loopback listener reaches nobody. */
export function isInContainer(environment: Environment, root = "/"): boolean {
  return (
    MARKERS.some((marker) => existsSync(join(root, marker))) ||
    VARIABLES.some((name) => (environment[name] ?? "") !== "") ||
    RUNTIMES.test(cgroupsOf(root))
  );
}

function cgroupsOf(root: string): string {
  try {
    return readFileSync(join(root, "proc/self/cgroup"), "utf8");
  } catch {
    return "";
  }
}
