import { parse, TomlDate, TomlError, type TomlTable, type TomlValue } from "smol-toml";
import { ValueRefused } from "./kinds/kind.js";
import { CONFIG_LEAVES, CONFIG_SCHEMA } from "./keys.js";
import { Layer } from "./layer.js";
import { nearestNames } from "./nearest.js";
import { shownValue, type ConfigProblem } from "./problem.js";
import { hasRemovedKeysBelow, removedKeyAdvice } from "./removed-keys.js";
import type { Children, Node } from "./schema.js";

/** Reads a configuration file. `source` is its name for messages; every problem is added to `problems`. */
export function readTomlLayer(text: string, source: string, problems: ConfigProblem[]): Layer {
  const layer = new Layer();
  try {
    const table = parse(text, { integersAsBigInt: true, unsafeKeyBehaviour: "throw" });
    readTable(table, CONFIG_SCHEMA.children, "", { layer, source, problems });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line of the message: the rest quotes the file, which may hold a secret.
    const [reason = "is not TOML"] = error.message.split("\n", 1);
    problems.push({ key: source, rule: `line ${error.line}, column ${error.column}: ${reason}` });
  }
  return layer;
}

interface Reading {
  readonly layer: Layer;
  readonly source: string;
  readonly problems: ConfigProblem[];
}

function readTable(table: TomlTable, children: Children, prefix: string, reading: Reading): void {
  for (const [name, value] of Object.entries(table)) {
    const path = `${prefix}${name}`;
    const node = Object.hasOwn(children, name) ? children[name] : undefined;
    if (node === undefined) readUnknown(path, value, reading);
    else readNode(value, node, path, reading);
  }
}

function readNode(value: TomlValue, node: Node, path: string, reading: Reading): void {
  const { layer, source, problems } = reading;
  switch (node.node) {
    case "section":
      if (isTable(value)) readTable(value, node.children, `${path}.`, reading);
      else problems.push({ key: path, source, rule: "must be a table" });
      return;
    case "tables":
      if (!Array.isArray(value) || !value.every(isTable)) {
        problems.push({ key: path, source, rule: "must be an array of tables" });
      } else if (value.length > node.countMax) {
        problems.push({ key: path, source, rule: `may hold at most ${node.countMax} tables` });
      } else {
        layer.arrayLengths.set(path, value.length);
        for (const [index, item] of value.entries()) readTable(item, node.children, `${path}[${index}].`, reading);
      }
      return;
    case "key":
      try {
        layer.set(path, { value: node.kind.fromToml(value), source });
      } catch (error) {
        if (!(error instanceof ValueRefused)) throw error;
        problems.push({ key: path, value: shownValue(value, node.isSecret), source, rule: error.message });
      }
  }
}

function readUnknown(path: string, value: TomlValue, { source, problems }: Reading): void {
  const advice = removedKeyAdvice(path);
  if (advice !== undefined && isTable(value) && hasRemovedKeysBelow(path) && Object.keys(value).length > 0) {
    for (const name of Object.keys(value)) {
      const below = `${path}.${name}`;
      problems.push({ key: below, source, rule: removedKeyAdvice(below) ?? advice });
    }
    return;
  }
  problems.push({ key: path, source, rule: advice ?? `unknown key${didYouMean(path)}` });
}

function didYouMean(path: string): string {
  const known = new Set<string>();
  for (const leaf of CONFIG_LEAVES) {
    const segments = leaf.path.split(".");
    for (let count = 1; count <= segments.length; count++) known.add(segments.slice(0, count).join("."));
  }
  const names = nearestNames(path.replaceAll(/\[\d+\]/g, "[]"), known);
  return names.length === 0 ? "" : `; did you mean ${names.map((name) => `\`${name}\``).join(" or ")}?`;
}

function isTable(value: TomlValue): value is TomlTable {
  return typeof value === "object" && !Array.isArray(value) && !(value instanceof TomlDate);
}
