import { type OptionEntry, type OptionScopeName, optionSpec, optionString } from "@iggy/protocol";
import type { OptionBlocks, ResourceOptions } from "../state/resource-options.js";

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

/** Lists show every resource again and again, and option maps never change: a patch makes a new one. */
function remembered(show: (options: ResourceOptions) => VisibleOptions): (options: ResourceOptions) => VisibleOptions {
  const shown = new WeakMap<ResourceOptions, VisibleOptions>();
  return (options) => {
    let known = shown.get(options);
    if (known === undefined) shown.set(options, (known = show(options)));
    return known;
  };
}

const keySource = optionString("encryption_key_source", "none");

export const visibleTopicOptions = remembered((options) => visible("topic", options));
export const visibleUserOptions = remembered((options) => visible("user", options));

/** A stream also shows where the key of its messages came from. No stream of this release has one. */
export const visibleStreamOptions = remembered((blocks) => {
  const { options, derivedOptions } = visible("stream", blocks);
  const stored = (entries: readonly OptionEntry[]): OptionEntry[] =>
    entries.filter((entry) => entry.key !== keySource.key);
  return { options: stored(options), derivedOptions: [...stored(derivedOptions), keySource] };
});
