import { arch, hostname, release, type as systemType } from "node:os";
import type { KernelFiles } from "./proc.js";

/** What does not change while the process runs. */
export interface HostIdentity {
  readonly hostname: string;
  readonly osName: string;
  readonly osVersion: string;
  readonly kernelVersion: string;
  readonly architecture: string;
}

export async function readHostIdentity(files: KernelFiles): Promise<HostIdentity> {
  const release_ = parseOsRelease((await files.text("etc/os-release")) ?? "");
  return {
    hostname: orUnknown(hostname(), "unknown_hostname"),
    osName: orUnknown(release_.get("NAME") ?? systemType(), "unknown_os_name"),
    osVersion: orUnknown(release_.get("VERSION_ID") ?? release_.get("BUILD_ID") ?? release(), "unknown_os_version"),
    kernelVersion: orUnknown(release(), "unknown_kernel_version"),
    architecture: arch(),
  };
}

function parseOsRelease(text: string): ReadonlyMap<string, string> {
  const lines = text.matchAll(/^([A-Z_]+)=(?:"([^"]*)"|'([^']*)'|(.*))$/gm);
  return new Map([...lines].map(([, name = "", double, single, bare]) => [name, double ?? single ?? bare ?? ""]));
}

const orUnknown = (text: string, unknown: string): string => (text === "" ? unknown : text);
