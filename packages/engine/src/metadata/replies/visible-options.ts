import {
  KeyOrigin,
  type OptionEntry,
  type OptionScopeName,
  optionSpec,
  optionString,
  sortOptions,
} from "@iggy/protocol";
import type { OptionBlocks, ResourceOptions } from "../state/resource-options.js";
import { type StreamEncryption, streamEncryption } from "../state/stream-encryption.js";

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

export const visibleTopicOptions = remembered((options) => visible("topic", options));
export const visibleUserOptions = remembered((options) => visible("user", options));

/**
 * A stream also shows how its messages are kept, as far as its options tell. Of one that this release can't read nothing
 * is shown: a client takes the source of its key for unknown.
 */
export const visibleStreamOptions = remembered((blocks) => {
  const encryption = streamEncryption(blocks);
  if (encryption.kind === "unreadable") return { options: [], derivedOptions: [] };
  const { options, derivedOptions } = visible("stream", blocks);
  const stored = (entries: readonly OptionEntry[]): OptionEntry[] =>
    entries.filter(({ key }) => optionSpec("stream", key)?.storage !== "computed");
  return {
    options: stored(options),
    derivedOptions: sortOptions([...stored(derivedOptions), ...projections(encryption)]),
  };
});

function projections(encryption: Exclude<StreamEncryption, { kind: "unreadable" }>): readonly OptionEntry[] {
  if (encryption.kind === "none") return [optionString("encryption_key_source", "none")];
  const { envelopes } = encryption;
  const [first] = envelopes;
  if (first === undefined) return [];
  return [
    optionString("encryption_key_source", first.origin === KeyOrigin.client ? "stream" : "server"),
    optionString("encryption_key_fingerprint", hex(first.keyFingerprint)),
    optionString("encryption_kek_fingerprint", envelopes.map(({ kekFingerprint }) => hex(kekFingerprint)).join(",")),
  ];
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
