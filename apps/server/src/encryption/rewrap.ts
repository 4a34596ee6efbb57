import { ErrorCode, IggyError, type KeyEnvelope, openWrapSet, wrapStreamKey } from "@iggy/protocol";
import { fillRandom, type KeyRing } from "./key-ring.js";

/** Envelopes that a wrap set holds at most. */
const ENVELOPES_MAX = 3;

/** What a rotation of the server key makes of a wrap set. */
export type Rewrap =
  | { readonly kind: "settled" }
  | { readonly kind: "replace"; readonly wrapSet: Uint8Array }
  /** Nothing can be done here and now. */
  | { readonly kind: "stuck"; readonly why: "full" | "unopened" };

const settled: Rewrap = { kind: "settled" };
const unopened: Rewrap = { kind: "stuck", why: "unopened" };

/**
 * The envelopes of a stream key without those under retired keys, and with one under the current key. Envelopes under
 * keys that this node does not know stay: other nodes may need them.
 */
export async function rewrap(envelopes: readonly KeyEnvelope[], ring: KeyRing): Promise<Rewrap> {
  const kept = envelopes.filter((envelope) => !ring.isRetired(envelope));
  const current = kept.find((envelope) => ring.isCurrent(envelope));
  if (current !== undefined) {
    if (kept.length === envelopes.length) return settled;
    // The others must not go before the one that stays is known to open.
    return (await isOpened(current, ring)) ? { kind: "replace", wrapSet: joined(kept) } : unopened;
  }
  if (kept.length === ENVELOPES_MAX) return { kind: "stuck", why: "full" };
  const added = await wrappedAnew(envelopes, ring);
  return added === undefined ? unopened : { kind: "replace", wrapSet: joined([...kept, added]) };
}

type Wrapped = Pick<KeyEnvelope, "kekFingerprint" | "bytes">;

const isOpened = async (envelope: KeyEnvelope, ring: KeyRing): Promise<boolean> => {
  const key = await opened(envelope.bytes, ring);
  key?.fill(0);
  return key !== undefined;
};

async function wrappedAnew(envelopes: readonly KeyEnvelope[], ring: KeyRing): Promise<Wrapped | undefined> {
  const key = await opened(joined(envelopes), ring);
  const origin = envelopes[0]?.origin;
  if (key === undefined || origin === undefined) return undefined;
  const bytes = await wrapStreamKey(key, origin, [ring.current], fillRandom);
  key.fill(0);
  return { kekFingerprint: ring.current.fingerprint, bytes };
}

async function opened(wrapSet: Uint8Array, ring: KeyRing): Promise<Uint8Array | undefined> {
  try {
    return await openWrapSet(wrapSet, ring.keys);
  } catch (error) {
    if (error instanceof IggyError && error.code === ErrorCode.CannotDecryptData) return undefined;
    throw error;
  }
}

/** A wrap set ascends by key fingerprint. */
const joined = (envelopes: readonly Wrapped[]): Uint8Array =>
  Buffer.concat(
    [...envelopes].sort((a, b) => Buffer.compare(a.kekFingerprint, b.kekFingerprint)).map(({ bytes }) => bytes),
  );
