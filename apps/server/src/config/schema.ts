import type { Kind, Unit } from "./kinds/kind.js";

/**
 * The configuration is one tree of declarations. From it come the defaults, the TOML and environment readers, the
 * names of the variables, the reference file and the type of the configuration object.
 */
export type Node = KeyNode<unknown, Unit> | SectionNode<Children> | TablesNode<Children>;
export interface Children {
  readonly [key: string]: Node;
}

/** One value. `T` includes `undefined` when the key may stay unset. */
export interface KeyNode<T, U extends Unit> {
  readonly node: "key";
  readonly kind: Kind<T, U>;
  readonly description: string;
  readonly default: { readonly value: T } | undefined;
  readonly isSecret: boolean;
  /** Read and checked, without effect in this version. */
  readonly isDormant: boolean;
}

export interface SectionNode<C extends Children> {
  readonly node: "section";
  readonly children: C;
  readonly isDormant: boolean;
}

/** An array of tables, such as `[[cluster.nodes]]`. */
export interface TablesNode<C extends Children> {
  readonly node: "tables";
  readonly children: C;
  readonly countMax: number;
  readonly description: string;
  readonly isDormant: boolean;
}

export function section<const C extends Children>(children: C): SectionNode<C> {
  return { node: "section", children, isDormant: false };
}

export function tables<const C extends Children>(countMax: number, description: string, children: C): TablesNode<C> {
  return { node: "tables", children, countMax, description, isDormant: false };
}

/** A key with a default, given as the text an operator would put into the environment variable. */
export function key<T, U extends Unit>(kind: Kind<T, U>, defaultText: string, description: string): KeyNode<T, U> {
  const value = kind.fromText(defaultText);
  return { node: "key", kind, description, default: { value }, isSecret: false, isDormant: false };
}

/** A key that has no value unless one is given. */
export function optional<T, U extends Unit>(kind: Kind<T, U>, description: string): KeyNode<T | undefined, U> {
  return { ...required(kind, description), default: { value: undefined } };
}

/** A key that every table of an array must give. */
export function required<T, U extends Unit>(kind: Kind<T, U>, description: string): KeyNode<T, U> {
  return { node: "key", kind, description, default: undefined, isSecret: false, isDormant: false };
}

/** Marks a key whose value is shown to nobody. */
export function secret<T, U extends Unit>(node: KeyNode<T, U>): KeyNode<T, U> {
  return { ...node, isSecret: true };
}

/** Marks what this version reads and checks but does not use yet, so that one file serves later versions too. */
export function dormant<N extends Node>(node: N): N {
  return { ...node, isDormant: true };
}

type Camel<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K;

type WithUnit<K extends string, U extends Unit> = U extends "millis"
  ? `${K}_millis`
  : U extends "bytes"
    ? K extends `${string}bytes${string}`
      ? K
      : `${K}_bytes`
    : K;

type PropertyName<K extends string, N> = Camel<N extends KeyNode<unknown, infer U> ? WithUnit<K, U> : K>;

/**
 * The configuration object of a declaration: `rebalancing_timeout`, a duration, becomes `rebalancingTimeoutMillis`;
 * `max_message_size` becomes `maxMessageSizeBytes`.
 */
export type ConfigOf<N> =
  N extends KeyNode<infer T, Unit>
    ? T
    : N extends SectionNode<infer C>
      ? { readonly [K in keyof C & string as PropertyName<K, C[K]>]: ConfigOf<C[K]> }
      : N extends TablesNode<infer C>
        ? readonly ConfigOf<SectionNode<C>>[]
        : never;

/** Dotted paths of the single values of a declaration; arrays of tables are left out. */
export type PathsOf<N, Prefix extends string = ""> =
  N extends SectionNode<infer C>
    ? {
        [K in keyof C & string]: C[K] extends KeyNode<unknown, Unit>
          ? `${Prefix}${K}`
          : PathsOf<C[K], `${Prefix}${K}.`>;
      }[keyof C & string]
    : never;

/** The name of a key in the configuration object. */
export function propertyName(name: string, node: Node): string {
  const unit = node.node === "key" ? node.kind.unit : "none";
  const withUnit =
    unit === "millis" ? `${name}_millis` : unit === "bytes" && !name.includes("bytes") ? `${name}_bytes` : name;
  return withUnit.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** One single-value key with its place. Inside an array of tables the path holds `[]`, the variable `<N>`. */
export interface Leaf {
  readonly path: string;
  readonly variable: string;
  readonly key: KeyNode<unknown, Unit>;
  readonly isDormant: boolean;
}

export function leavesOf(children: Children): Leaf[] {
  return collectLeaves(children, "", "IGGY_", false);
}

function collectLeaves(children: Children, path: string, variable: string, isDormant: boolean): Leaf[] {
  return Object.entries(children).flatMap(([name, node]) => {
    const ownPath = `${path}${name}`;
    const ownVariable = `${variable}${name.toUpperCase()}`;
    const sleeps = isDormant || node.isDormant;
    switch (node.node) {
      case "key":
        return [{ path: ownPath, variable: ownVariable, key: node, isDormant: sleeps }];
      case "section":
        return collectLeaves(node.children, `${ownPath}.`, `${ownVariable}_`, sleeps);
      case "tables":
        return collectLeaves(node.children, `${ownPath}[].`, `${ownVariable}_<N>_`, sleeps);
    }
  });
}
