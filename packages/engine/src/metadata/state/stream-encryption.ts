import {
  type KeyEnvelope,
  HeaderKind,
  IggyError,
  type OptionEntry,
  optionRaw,
  optionSpec,
  optionString,
  parseWrapSet,
  readOptionValue,
} from "@iggy/protocol";
import type { OptionBlocks } from "./resource-options.js";

/** How the messages of a stream are kept, as its options say. Decided when the stream is created, for good. */
export type StreamEncryption =
  | { readonly kind: "none" }
  /** Under a key of its own, which is wrapped by keys of servers: one to three envelopes of the same stream key. */
  | { readonly kind: "wrapped"; readonly wrapSet: Uint8Array; readonly envelopes: readonly KeyEnvelope[] }
  /** The options hold something that this release does not understand and must not pass over: nothing is served. */
  | { readonly kind: "unreadable" };

const WRAPPED_KEY = "encryption_key_wrapped";
const CLEAR_KEY = "encryption_key";
const MARKER = "critical_keys";
const MARKER_BYTES_MAX = 255;

const none: StreamEncryption = { kind: "none" };
const unreadable: StreamEncryption = { kind: "unreadable" };

/** What a stream stores in place of its key. */
export const wrappedKeyOptions = (wrapSet: Uint8Array): readonly OptionEntry[] => [
  optionString(MARKER, WRAPPED_KEY),
  optionRaw(WRAPPED_KEY, wrapSet),
];

/** The options of a stream with another wrap set of the same key. */
export const rewrappedKeyOption = (wrapSet: Uint8Array): OptionEntry => optionRaw(WRAPPED_KEY, wrapSet);

export function streamEncryption({ explicit, derived }: OptionBlocks): StreamEncryption {
  const byKey = new Map([...explicit, ...derived].map((entry) => [entry.key, entry]));
  const marker = byKey.get(MARKER);
  // A key in clear was not stored by any release: whoever did, the messages may not go out as plain ones.
  if (byKey.has(CLEAR_KEY) || (marker !== undefined && !isUnderstood(marker, byKey))) return unreadable;
  const wrapped = byKey.get(WRAPPED_KEY);
  if (wrapped === undefined) return none;
  if (wrapped.kind !== HeaderKind.raw) return unreadable;
  try {
    return { kind: "wrapped", wrapSet: wrapped.value, envelopes: parseWrapSet(wrapped.value) };
  } catch (error) {
    if (error instanceof IggyError) return unreadable;
    throw error;
  }
}

/** A marker lists sorted, different names, each of them critical in this release and present in the map. */
function isUnderstood(marker: OptionEntry, byKey: ReadonlyMap<string, OptionEntry>): boolean {
  const text = marker.value.length > MARKER_BYTES_MAX ? undefined : textOf(marker);
  if (text === undefined) return false;
  const names = text.split(",");
  return names.every((name, at) => {
    const before = names[at - 1];
    const isInOrder = before === undefined || before < name;
    return isInOrder && /^[a-z0-9_]+$/.test(name) && optionSpec("stream", name)?.critical === true && byKey.has(name);
  });
}

function textOf(entry: OptionEntry): string | undefined {
  try {
    const value = readOptionValue(entry);
    return value?.kind === "string" ? value.value : undefined;
  } catch (error) {
    if (error instanceof IggyError) return undefined;
    throw error;
  }
}
