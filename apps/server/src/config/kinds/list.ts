import { refuse, type Kind } from "./kind.js";

/** A list whose elements all have one kind. In the environment: `[a, b, "c,d"]`. */
export function listKind<T>(element: Kind<T, "none">, countMax: number): Kind<readonly T[], "none"> {
  const bounded = <V>(values: readonly V[]): readonly V[] =>
    values.length > countMax ? refuse(`may hold at most ${countMax} elements`) : values;
  return {
    name: `list of ${element.name}`,
    unit: "none",
    fromToml: (value) =>
      Array.isArray(value) ? bounded(value).map((item) => element.fromToml(item)) : refuse("must be a list"),
    fromText: (text) => bounded(splitList(text)).map((item) => element.fromText(item)),
    toToml: (values) => `[${values.map((value) => element.toToml(value)).join(", ")}]`,
  };
}

/** Splits `[a, b, "c,d"]` at the commas outside double quotes; elements are trimmed and lose surrounding quotes. */
export function splitList(text: string): string[] {
  const trimmed = text.trim();
  if (!trimmed.startsWith("[") || !trimmed.endsWith("]")) refuse('must be a list in brackets, such as ["a", "b"]');
  const inner = trimmed.slice(1, -1);
  if (inner.trim() === "") return [];
  const elements: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let at = 0; at <= inner.length; at++) {
    const character = inner[at];
    if (character === '"') isQuoted = !isQuoted;
    if (character === undefined || (character === "," && !isQuoted)) {
      elements.push(unquote(inner.slice(start, at).trim()));
      start = at + 1;
    }
  }
  return isQuoted ? refuse("has a double quote that is never closed") : elements;
}

function unquote(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}
