import type { CpuAllocation } from "../config/kinds/cpu-allocation.js";

/** How the cores of a machine lie to each other. */
export interface Topology {
  /** Cores that the process may use, ascending. */
  readonly allowed: readonly number[];
  /** Memory node of a core, 0 where the system names none. */
  nodeOf(core: number): number;
  /** Logical cores that share the execution units of a core, itself among them. */
  siblingsOf(core: number): readonly number[];
}

/** The core of each shard, in the order of the shards. At least one. */
export function coresOf(allocation: CpuAllocation, topology: Topology): readonly number[] {
  const { allowed } = topology;
  switch (allocation.mode) {
    case "all":
      return atLeastOne(allowed);
    case "count":
      return atLeastOne(allowed.slice(0, allocation.count));
    case "range":
      return Array.from({ length: allocation.end - allocation.first }, (_, at) => allocation.first + at);
    case "numa":
      return atLeastOne(ofNodes(allocation, topology));
  }
}

/** On each wanted node the first cores, one of each physical core unless hyper-threads count too. */
function ofNodes(
  { nodes, cores, noHt }: Extract<CpuAllocation, { readonly mode: "numa" }>,
  topology: Topology,
): readonly number[] {
  const { allowed } = topology;
  const isFirst = (core: number): boolean =>
    topology.siblingsOf(core).every((other) => other >= core || !allowed.includes(other));
  const taken = new Map<number, number>();
  return allowed.filter((core) => {
    const node = topology.nodeOf(core);
    const count = taken.get(node) ?? 0;
    const isWanted = (nodes === undefined || nodes.includes(node)) && (!noHt || isFirst(core));
    if (!isWanted || (cores > 0 && count >= cores)) return false;
    taken.set(node, count + 1);
    return true;
  });
}

const atLeastOne = (cores: readonly number[]): readonly number[] => (cores.length === 0 ? [0] : cores);
