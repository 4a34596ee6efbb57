import { encodeUtf8 } from "../codec/text.js";
import { ErrorCode, IggyError } from "../errors/index.js";
import { checkKeySize, ENCRYPTION_KEY_SIZE } from "./encryption-key.js";
import {
  type AesKey,
  hkdfSha256,
  importAesKey,
  NONCE_SIZE,
  type RandomSource,
  sha256,
  TAG_SIZE,
} from "./web-crypto.js";

const WRAP_INFO = encodeUtf8("iggy/stream-key-wrap/v1");
const KEK_LABEL = encodeUtf8("iggy/stream-kek-fingerprint/v1");
const KEY_LABEL = encodeUtf8("iggy/stream-key-fingerprint/v1");
const ENVELOPE_LABEL = encodeUtf8("iggy/stream-key/v1");

export const FINGERPRINT_SIZE = 8;
const VERSION = 1;
const KEK_OFFSET = 2;
const SEALED_OFFSET = KEK_OFFSET + FINGERPRINT_SIZE;
const KEY_OFFSET = SEALED_OFFSET + NONCE_SIZE + ENCRYPTION_KEY_SIZE + TAG_SIZE;
const ENVELOPE_SIZE = KEY_OFFSET + FINGERPRINT_SIZE;
const MAX_ENVELOPES = 3;

/** Who chose a stream's key. */
export const KeyOrigin = { client: 1, server: 2 } as const;
export type KeyOriginCode = (typeof KeyOrigin)[keyof typeof KeyOrigin];

/** First 8 bytes of SHA-256 over a label and a key. */
async function fingerprint(label: Uint8Array, key: Uint8Array): Promise<Uint8Array> {
  return (await sha256(join(label, key))).subarray(0, FINGERPRINT_SIZE);
}

/** Names a stream's key without telling it; 8 bytes, shown as 16 hex digits. */
export const streamKeyFingerprint = (key: Uint8Array): Promise<Uint8Array> => fingerprint(KEY_LABEL, key);

/** A key-encryption key: wraps stream keys, derived from a configured key. */
export interface KeyEncryptionKey {
  readonly fingerprint: Uint8Array;
  readonly key: AesKey;
}

/**
 * Derives the wrapping key of a configured key of 32 bytes by HKDF-SHA-256 without salt. `InvalidEncryptionKey` (70) for
 * another size.
 */
export async function deriveKeyEncryptionKey(configKey: Uint8Array): Promise<KeyEncryptionKey> {
  checkKeySize(configKey);
  const wrappingKey = await hkdfSha256(configKey, WRAP_INFO, ENCRYPTION_KEY_SIZE);
  return { fingerprint: await fingerprint(KEK_LABEL, wrappingKey), key: await importAesKey(wrappingKey) };
}

/**
 * A stream key encrypted under one key-encryption key, 78 bytes.
 *
 *    0 version u8, 1              10 nonce 12 bytes
 *    1 origin u8                  22 ciphertext 32 bytes and tag 16
 *    2 KEK fingerprint 8 bytes    70 key fingerprint 8 bytes
 *
 * What is authenticated beside the key: label, version, origin and both fingerprints.
 */
export interface KeyEnvelope {
  readonly origin: KeyOriginCode;
  readonly kekFingerprint: Uint8Array;
  readonly keyFingerprint: Uint8Array;
  /** The 78 bytes. */
  readonly bytes: Uint8Array;
}

/** Wraps a stream key under every given key, in the form that metadata stores: ascending by KEK fingerprint. */
export async function wrapStreamKey(
  streamKey: Uint8Array,
  origin: KeyOriginCode,
  keys: readonly KeyEncryptionKey[],
  random: RandomSource,
): Promise<Uint8Array> {
  checkKeySize(streamKey);
  if (keys.length === 0 || keys.length > MAX_ENVELOPES) {
    throw new IggyError(
      ErrorCode.InvalidEncryptionKey,
      `a stream key is wrapped under 1 to ${String(MAX_ENVELOPES)} keys`,
    );
  }
  const keyFingerprint = await streamKeyFingerprint(streamKey);
  const ordered = [...keys].sort((a, b) => compareBytes(a.fingerprint, b.fingerprint));
  const envelopes: Uint8Array[] = [];
  for (const kek of ordered) {
    const nonce = new Uint8Array(NONCE_SIZE);
    random(nonce);
    const bytes = new Uint8Array(ENVELOPE_SIZE);
    bytes[0] = VERSION;
    bytes[1] = origin;
    bytes.set(kek.fingerprint, KEK_OFFSET);
    bytes.set(keyFingerprint, KEY_OFFSET);
    bytes.set(await kek.key.seal(streamKey, nonce, additionalData(bytes)), SEALED_OFFSET);
    envelopes.push(bytes);
  }
  return join(...envelopes);
}

/**
 * Splits a stored wrap set: 1 to 3 envelopes of one stream key, ascending by KEK fingerprint. Any other bytes are
 * `UnsupportedCriticalOption` (4107): a stream whose key can't be read must not be served.
 */
export function parseWrapSet(set: Uint8Array): readonly KeyEnvelope[] {
  const count = set.length / ENVELOPE_SIZE;
  if (!Number.isInteger(count) || count < 1 || count > MAX_ENVELOPES) {
    throw unsupported(`${String(set.length)} bytes are no wrap set`);
  }
  const envelopes = Array.from({ length: count }, (_, i) =>
    parseEnvelope(set.subarray(i * ENVELOPE_SIZE, (i + 1) * ENVELOPE_SIZE)),
  );
  envelopes.forEach((envelope, i) => {
    const before = envelopes[i - 1];
    if (before === undefined) return;
    if (compareBytes(before.kekFingerprint, envelope.kekFingerprint) >= 0) {
      throw unsupported("the envelopes of a wrap set do not ascend");
    }
    if (before.origin !== envelope.origin || compareBytes(before.keyFingerprint, envelope.keyFingerprint) !== 0) {
      throw unsupported("a wrap set holds different keys");
    }
  });
  return envelopes;
}

function parseEnvelope(bytes: Uint8Array): KeyEnvelope {
  const origin = bytes[1];
  if (bytes[0] !== VERSION) throw unsupported(`${String(bytes[0])} is no envelope version`);
  if (origin !== KeyOrigin.client && origin !== KeyOrigin.server) {
    throw unsupported(`${String(origin)} is no key origin`);
  }
  return {
    origin,
    kekFingerprint: bytes.subarray(KEK_OFFSET, SEALED_OFFSET),
    keyFingerprint: bytes.subarray(KEY_OFFSET),
    bytes,
  };
}

/**
 * The stream key in a wrap set, opened with any of the keys. `CannotDecryptData` (72) when none of them fits or the
 * envelope is damaged; `UnsupportedCriticalOption` (4107) for bytes that are no wrap set.
 */
export async function openWrapSet(set: Uint8Array, keys: readonly KeyEncryptionKey[]): Promise<Uint8Array> {
  for (const envelope of parseWrapSet(set)) {
    const kek = keys.find(({ fingerprint }) => compareBytes(fingerprint, envelope.kekFingerprint) === 0);
    if (kek === undefined) continue;
    const sealed = envelope.bytes.subarray(SEALED_OFFSET, KEY_OFFSET);
    const streamKey = await kek.key.open(sealed, additionalData(envelope.bytes));
    if (streamKey === undefined) throw undecryptable("an envelope is damaged");
    if (compareBytes(await streamKeyFingerprint(streamKey), envelope.keyFingerprint) !== 0) {
      throw undecryptable("an envelope holds another key than it names");
    }
    return streamKey;
  }
  throw undecryptable("no configured key opens the wrap set");
}

const additionalData = (envelope: Uint8Array): Uint8Array =>
  join(ENVELOPE_LABEL, envelope.subarray(0, SEALED_OFFSET), envelope.subarray(KEY_OFFSET));

const unsupported = (message: string): IggyError => new IggyError(ErrorCode.UnsupportedCriticalOption, message);
const undecryptable = (message: string): IggyError => new IggyError(ErrorCode.CannotDecryptData, message);

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function join(...pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
