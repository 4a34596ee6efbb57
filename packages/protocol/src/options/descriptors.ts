import type { OptionDescriptor } from "../commands/records/option-descriptor.js";
import { OptionFlag } from "../commands/records/option-descriptor.js";
import { HeaderKind, type OptionScopeName } from "../enums/index.js";
import { optionU32 } from "../primitives/option-value.js";
import { isResettable, isUpdatable, optionCatalogue, type OptionSpec } from "./catalogue.js";

/** What only the answering node knows of the defaults. */
export interface NodeDefaults {
  readonly replicationFactor?: number;
}

export const optionFlags = (spec: OptionSpec): number =>
  (isUpdatable(spec) ? OptionFlag.updatable : 0) |
  (isResettable(spec) ? OptionFlag.resettable : 0) |
  (spec.visibility === "secret" ? OptionFlag.secret : 0) |
  (spec.visibility === "read_only" ? OptionFlag.readOnly : 0) |
  (spec.critical ? OptionFlag.critical : 0);

/** Descriptors of a scope in catalogue order. Options internal to the server are left out. */
export function optionDescriptors(scope: OptionScopeName, node: NodeDefaults = {}): OptionDescriptor[] {
  return optionCatalogue
    .filter((spec) => spec.scopes.includes(scope) && spec.visibility !== "internal")
    .map((spec) => ({
      key: spec.key,
      kind: HeaderKind[spec.kind],
      flags: optionFlags(spec),
      defaultValue: (nodeDefault(spec.key, node) ?? spec.default)?.value ?? new Uint8Array(0),
      description: spec.description,
    }));
}

/** The default that a node resolves for a key, if it does. */
export const nodeDefault = (
  key: string,
  { replicationFactor }: NodeDefaults,
): ReturnType<typeof optionU32> | undefined =>
  key === "replication_factor" && replicationFactor !== undefined ? optionU32(key, replicationFactor) : undefined;
