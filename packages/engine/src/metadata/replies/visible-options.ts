import { type OptionEntry, type OptionScopeName, optionSpec, optionString } from "@iggy/protocol";
import type { OptionBlocks } from "../state/resource-options.js";

/** The two option blocks of a reply. */
export interface VisibleOptions {
  readonly options: readonly OptionEntry[];
  readonly derivedOptions: readonly OptionEntry[];
}

/** Secrets and the server's own keys are never shown; keys that this release does not know are. */
function visible(scope: OptionScopeName, { explicit, derived }: OptionBlocks): VisibleOptions {
  const isVisible = ({ key }: OptionEntry): boolean => {
    const visibility = optionSpec(scope, key)?.visibility;
    return visibility !== "secret" && visibility !== "internal";
  };
  return { options: explicit.filter(isVisible), derivedOptions: derived.filter(isVisible) };
}

export const visibleTopicOptions = (blocks: OptionBlocks): VisibleOptions => visible("topic", blocks);
export const visibleUserOptions = (blocks: OptionBlocks): VisibleOptions => visible("user", blocks);

const sourceKey = "encryption_key_source";

/** A stream also shows where the key of its messages came from. No stream of this release has one. */
export function visibleStreamOptions(blocks: OptionBlocks): VisibleOptions {
  const { options, derivedOptions } = visible("stream", blocks);
  const stored = derivedOptions.filter((entry) => entry.key !== sourceKey);
  return {
    options: options.filter((entry) => entry.key !== sourceKey),
    derivedOptions: [...stored, optionString(sourceKey, "none")],
  };
}
