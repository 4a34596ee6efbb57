import { Secret } from "../secret.js";
import { refuse, tomlString, withinBounds, type Bounds, type Kind } from "./kind.js";

export const boolKind: Kind<boolean, "none"> = {
  name: "boolean",
  unit: "none",
  fromToml: (value) => (typeof value === "boolean" ? value : refuse("must be true or false")),
  fromText: (text) => {
    const lower = text.toLowerCase();
    if (lower === "true") return true;
    return lower === "false" ? false : refuse("must be true or false");
  },
  toToml: String,
};

export function intKind(bounds: Bounds): Kind<number, "none"> {
  const check = (value: bigint): number => {
    if (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER) refuse("is too large");
    return withinBounds(Number(value), { min: 0, ...bounds }, String);
  };
  return {
    name: "integer",
    unit: "none",
    fromToml: (value) => (typeof value === "bigint" ? check(value) : refuse("must be an integer")),
    fromText: (text) => (/^[+-]?\d+$/.test(text) ? check(BigInt(text.replace("+", ""))) : refuse("must be an integer")),
    toToml: String,
  };
}

export function floatKind(bounds: Bounds): Kind<number, "none"> {
  const check = (value: number): number =>
    Number.isFinite(value) ? withinBounds(value, bounds, String) : refuse("must be a number");
  return {
    name: "number",
    unit: "none",
    fromToml: (value) =>
      typeof value === "number" || typeof value === "bigint" ? check(Number(value)) : refuse("must be a number"),
    fromText: (text) =>
      /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? check(Number(text)) : refuse("must be a number"),
    toToml: (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value)),
  };
}

/** A text, optionally checked by `rule`, which throws `ValueRefused` or gives the text in its stored form. */
export function textKind(rule: (text: string) => string = (text) => text): Kind<string, "none"> {
  return {
    name: "text",
    unit: "none",
    fromToml: (value) => (typeof value === "string" ? rule(value) : refuse("must be a text in quotes")),
    fromText: rule,
    toToml: tomlString,
  };
}

/** A text nobody may read back: it is written as an empty one. */
export const secretKind: Kind<Secret, "none"> = {
  name: "secret text",
  unit: "none",
  fromToml: (value) => (typeof value === "string" ? new Secret(value) : refuse("must be a text in quotes")),
  fromText: (text) => new Secret(text),
  toToml: () => '""',
};

export function choiceKind<const T extends string>(choices: readonly T[]): Kind<T, "none"> {
  const pick = (text: string): T =>
    choices.find((choice) => choice === text) ?? refuse(`must be one of ${choices.map(tomlString).join(", ")}`);
  return {
    name: choices.join(" | "),
    unit: "none",
    fromToml: (value) => (typeof value === "string" ? pick(value) : pick("")),
    fromText: pick,
    toToml: tomlString,
  };
}
