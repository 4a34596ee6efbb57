import { ADVERTISED_ADDRESSES_MAX } from "./keys/cluster.js";
import { CONFIG_LEAVES } from "./keys.js";
import { ValueRefused } from "./kinds/kind.js";
import { Layer } from "./layer.js";
import { nearestNames } from "./nearest.js";
import { shownValue, type ConfigProblem } from "./problem.js";
import { isForeignVariable, PROCESS_VARIABLES, type Environment } from "./process-variables.js";
import { removedVariableAdvice } from "./removed-keys.js";
import type { Leaf } from "./schema.js";

const INDEX = "<N>";
/** Highest index of an array of tables in a variable's name; of advertised addresses it is 15. */
const INDEX_MAX = 255;

const singleValues = new Map<string, Leaf>();
const arrayValues: { readonly pattern: RegExp; readonly leaf: Leaf }[] = [];
for (const leaf of CONFIG_LEAVES) {
  if (!leaf.variable.includes(INDEX)) singleValues.set(leaf.variable, leaf);
  else arrayValues.push({ pattern: new RegExp(`^${leaf.variable.replaceAll(INDEX, "(\\d{1,3})")}$`), leaf });
}

/** Names of every variable the server recognises, sorted; the index of an array of tables is written `<N>`. */
export function configVariables(): string[] {
  return [...new Set([...CONFIG_LEAVES.map((leaf) => leaf.variable), ...PROCESS_VARIABLES])].sort();
}

/** Reads the `IGGY_` overrides. Names that are no variable of the family are problems. */
export function readEnvironmentLayer(environment: Environment, problems: ConfigProblem[]): Layer {
  const layer = new Layer();
  const processVariables: ReadonlySet<string> = new Set(PROCESS_VARIABLES);
  for (const name of Object.keys(environment).sort()) {
    const text = environment[name];
    if (!name.startsWith("IGGY_") || text === undefined || processVariables.has(name)) continue;
    const place = findPlace(name);
    if (place !== undefined) {
      if (text !== "") readOverride(name, text, place, layer, problems);
    } else if (!isForeignVariable(name)) {
      problems.push({ key: name, rule: removedVariableAdvice(name) ?? `unknown variable${didYouMean(name)}` });
    }
  }
  return layer;
}

interface Place {
  readonly leaf: Leaf;
  /** One per array of tables on the way to the key. */
  readonly indexes: readonly number[];
}

function findPlace(name: string): Place | undefined {
  const single = singleValues.get(name);
  if (single !== undefined) return { leaf: single, indexes: [] };
  for (const { pattern, leaf } of arrayValues) {
    const match = pattern.exec(name);
    if (match === null) continue;
    const indexes = match.slice(1).map(Number);
    const [outer = 0, inner = 0] = indexes;
    return outer <= INDEX_MAX && inner < ADVERTISED_ADDRESSES_MAX ? { leaf, indexes } : undefined;
  }
  return undefined;
}

function readOverride(name: string, text: string, place: Place, layer: Layer, problems: ConfigProblem[]): void {
  const { leaf, indexes } = place;
  const path = registerElements(leaf.path, indexes, layer);
  try {
    layer.set(path, { value: leaf.key.kind.fromText(text), source: name });
  } catch (error) {
    if (!(error instanceof ValueRefused)) throw error;
    problems.push({ key: path, value: shownValue(text, leaf.key.isSecret), source: name, rule: error.message });
  }
}

/** Puts the indexes into the path of a key and makes room for the elements they name. */
function registerElements(path: string, indexes: readonly number[], layer: Layer): string {
  const [head = "", ...rest] = path.split("[]");
  return rest.reduce((prefix, tail, depth) => {
    const index = indexes[depth] ?? 0;
    layer.extendArray(prefix, index);
    return `${prefix}[${index}]${tail}`;
  }, head);
}

function didYouMean(name: string): string {
  const names = nearestNames(name, configVariables());
  return names.length === 0 ? "" : `; did you mean ${names.join(" or ")}?`;
}
