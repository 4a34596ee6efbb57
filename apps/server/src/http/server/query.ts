import type { JsonValue } from "../json/index.js";

/** Members of a query, decoded. A name that comes several times has a list, which no route takes. */
export function readQuery(text: string): Record<string, JsonValue> {
  const members = new Map<string, JsonValue>();
  for (const [name, value] of new URLSearchParams(text)) members.set(name, members.has(name) ? [] : value);
  return Object.fromEntries(members);
}
