import { refuse, tomlString, type Kind } from "./kind.js";

/** How many shards a node runs and on which cores. `numa.nodes` undefined means every node; `cores` 0 means all. */
export type CpuAllocation =
  | { readonly mode: "all" }
  | { readonly mode: "count"; readonly count: number }
  | { readonly mode: "range"; readonly first: number; readonly end: number }
  | { readonly mode: "numa"; readonly nodes?: readonly number[]; readonly cores: number; readonly noHt: boolean };

const RULE =
  'must be "all", a number of cores, a range such as "0..4", "numa:auto" or "numa:nodes=0,1;cores=4;no_ht=true"';

export const cpuAllocationKind: Kind<CpuAllocation, "none"> = {
  name: "CPU allocation",
  unit: "none",
  fromToml: (value) =>
    typeof value === "string" || typeof value === "bigint" ? parseCpuAllocation(String(value)) : refuse(RULE),
  fromText: parseCpuAllocation,
  toToml: (allocation) =>
    allocation.mode === "count" ? String(allocation.count) : tomlString(formatCpuAllocation(allocation)),
};

function parseCpuAllocation(text: string): CpuAllocation {
  if (text === "all") return { mode: "all" };
  if (text === "numa:auto") return { mode: "numa", cores: 0, noHt: true };
  if (/^\d{1,6}$/.test(text)) {
    const count = Number(text);
    return count >= 1 ? { mode: "count", count } : refuse("must be at least 1 core");
  }
  const range = /^(\d{1,6})\.\.(\d{1,6})$/.exec(text);
  if (range !== null) {
    const first = Number(range[1]);
    const end = Number(range[2]);
    return first < end ? { mode: "range", first, end } : refuse("must be a range A..B with A below B");
  }
  return text.startsWith("numa:") ? parseNuma(text.slice("numa:".length)) : refuse(RULE);
}

function parseNuma(parameters: string): CpuAllocation {
  let nodes: readonly number[] | undefined;
  let cores = 0;
  let noHt = true;
  for (const parameter of parameters.split(";")) {
    const [name = "", value = ""] = parameter.split("=", 2);
    if (name === "nodes" && /^\d+(,\d+)*$/.test(value)) nodes = value.split(",").map(Number);
    else if (name === "cores" && /^\d{1,6}$/.test(value)) cores = Number(value);
    else if (name === "no_ht" && (value === "true" || value === "false")) noHt = value === "true";
    else refuse(`has the unknown parameter ${JSON.stringify(parameter)}; ${RULE}`);
  }
  return nodes === undefined ? { mode: "numa", cores, noHt } : { mode: "numa", nodes, cores, noHt };
}

function formatCpuAllocation(allocation: CpuAllocation): string {
  switch (allocation.mode) {
    case "all":
      return "all";
    case "count":
      return String(allocation.count);
    case "range":
      return `${allocation.first}..${allocation.end}`;
    case "numa": {
      if (allocation.nodes === undefined && allocation.cores === 0 && allocation.noHt) return "numa:auto";
      const nodes = allocation.nodes === undefined ? [] : [`nodes=${allocation.nodes.join(",")}`];
      return `numa:${[...nodes, `cores=${allocation.cores}`, `no_ht=${allocation.noHt}`].join(";")}`;
    }
  }
}
