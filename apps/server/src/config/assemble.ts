import type { Layer } from "./layer.js";
import type { ConfigProblem } from "./problem.js";
import { propertyName, type Children, type ConfigOf, type SectionNode } from "./schema.js";

/**
 * Builds the configuration object of a declaration from what the sources set and the defaults. This is the one place
 * where the declared type is claimed: every value in a layer was made by the kind of its key.
 */
export function assemble<C extends Children>(
  schema: SectionNode<C>,
  layer: Layer,
  problems: ConfigProblem[],
): ConfigOf<SectionNode<C>> {
  return buildSection(schema.children, "", layer, problems) as ConfigOf<SectionNode<C>>;
}

function buildSection(children: Children, prefix: string, layer: Layer, problems: ConfigProblem[]): object {
  const built: Record<string, unknown> = {};
  for (const [name, node] of Object.entries(children)) {
    const path = `${prefix}${name}`;
    const property = propertyName(name, node);
    switch (node.node) {
      case "section":
        built[property] = buildSection(node.children, `${path}.`, layer, problems);
        break;
      case "tables":
        built[property] = Array.from({ length: layer.arrayLengths.get(path) ?? 0 }, (_, index) =>
          buildSection(node.children, `${path}[${index}].`, layer, problems),
        );
        break;
      case "key": {
        const entry = layer.entries.get(path) ?? node.default;
        if (entry !== undefined) built[property] = entry.value;
        else if (!problems.some((problem) => problem.key === path)) problems.push({ key: path, rule: "is missing" });
      }
    }
  }
  return built;
}
