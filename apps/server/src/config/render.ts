import { CONFIG_SCHEMA, type ServerConfig } from "./keys.js";
import { propertyName, type Children, type KeyNode } from "./schema.js";
import type { Unit } from "./kinds/kind.js";

/**
 * The effective configuration as TOML that reads back to the same configuration. Secret keys are left out.
 * This is the text of `runtime/current_config.toml`.
 */
export function currentConfigToml(config: ServerConfig): string {
  const lines = ["# The configuration this server runs with, written at its start. Secrets are left out.", ""];
  renderTable(CONFIG_SCHEMA.children, config, "", lines);
  return `${lines.join("\n").trimEnd()}\n`;
}

function renderTable(children: Children, values: object, prefix: string, lines: string[]): void {
  for (const [name, node] of Object.entries(children)) {
    if (node.node !== "key" || node.isSecret) continue;
    const value = propertyOf(values, propertyName(name, node));
    if (value !== undefined) lines.push(`${name} = ${node.kind.toToml(value)}`);
  }
  for (const [name, node] of Object.entries(children)) {
    const path = `${prefix}${name}`;
    const value = propertyOf(values, propertyName(name, node));
    if (node.node === "section" && typeof value === "object" && value !== null) {
      const isTitled = Object.values(node.children).some((child) => child.node === "key");
      if (isTitled) lines.push("", `[${path}]`);
      renderTable(node.children, value, `${path}.`, lines);
    }
    if (node.node === "tables" && Array.isArray(value)) {
      const items: readonly unknown[] = value;
      for (const item of items) {
        lines.push("", `[[${path}]]`);
        if (typeof item === "object" && item !== null) renderTable(node.children, item, `${path}.`, lines);
      }
    }
  }
}

function propertyOf(values: object, property: string): unknown {
  return Object.entries(values).find(([name]) => name === property)?.[1];
}

/** Every key with its default, form and meaning: the file an operator starts from. All values are commented out. */
export function referenceToml(): string {
  const lines = [
    "# Every key of the server with its default. Remove the `#` before a key to change it.",
    "# Each key has an environment variable: IGGY_ and the dotted path in capitals with `_` for `.`,",
    "# so `tcp.address` is IGGY_TCP_ADDRESS. The environment wins over this file, this file over the defaults.",
    "# [not used yet] marks what this version reads and checks, but does not act on.",
    "",
  ];
  referenceTable(CONFIG_SCHEMA.children, { prefix: "", isDormant: false, titleMark: "" }, lines);
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Inside an array of tables everything is commented out, titles included: no table of it exists by default. */
function referenceTable(
  children: Children,
  place: { readonly prefix: string; readonly isDormant: boolean; readonly titleMark: "" | "#" },
  lines: string[],
): void {
  const { prefix, isDormant, titleMark } = place;
  for (const [name, node] of Object.entries(children)) {
    if (node.node !== "key") continue;
    const mark = isDormant || node.isDormant ? " [not used yet]" : "";
    lines.push(`# ${node.description} (${node.kind.name})${mark}`, `#${name} = ${exampleOf(node)}`);
  }
  for (const [name, node] of Object.entries(children)) {
    if (node.node === "key") continue;
    const path = `${prefix}${name}`;
    const below = { prefix: `${path}.`, isDormant: isDormant || node.isDormant };
    if (node.node === "section") {
      const isTitled = Object.values(node.children).some((child) => child.node === "key");
      if (isTitled) lines.push("", `${titleMark}[${path}]`);
      referenceTable(node.children, { ...below, titleMark }, lines);
    } else {
      lines.push("", `# ${node.description}${below.isDormant ? " [not used yet]" : ""}`, `#[[${path}]]`);
      referenceTable(node.children, { ...below, titleMark: "#" }, lines);
    }
  }
}

/** The default as TOML, or a note where there is none. */
function exampleOf(node: KeyNode<unknown, Unit>): string {
  if (node.default === undefined) return "# required";
  return node.default.value === undefined ? "# unset" : node.kind.toToml(node.default.value);
}
