import { randomBytes, randomFillSync } from "node:crypto";
import type { StreamKeys } from "@iggy/engine";
import {
  deriveKeyEncryptionKey,
  ENCRYPTION_KEY_SIZE,
  type KeyEncryptionKey,
  type KeyEnvelope,
  KeyOrigin,
  openWrapSet,
  parseEncryptionKey,
  wrapStreamKey,
} from "@iggy/protocol";
import type { Secret, ServerConfig } from "../config/index.js";

/** The server keys of a configuration: the current one wraps, the previous ones still open. */
export class KeyRing implements StreamKeys {
  readonly current: KeyEncryptionKey;
  /** The current key, then the previous ones. */
  readonly keys: readonly KeyEncryptionKey[];
  /** Fingerprints, in hex, of keys whose envelopes are to be dropped. */
  private readonly retired: ReadonlySet<string>;
  private readonly generates: boolean;

  private constructor(
    current: KeyEncryptionKey,
    previous: readonly KeyEncryptionKey[],
    retired: readonly string[],
    generates: boolean,
  ) {
    this.current = current;
    this.keys = [current, ...previous];
    this.retired = new Set(retired);
    this.generates = generates;
  }

  /** Undefined without a server key. The configuration was checked before. */
  static async of(config: ServerConfig["encryption"]): Promise<KeyRing | undefined> {
    const { key, previousKeys, retiredKekFingerprints, enabled } = config;
    if (key.isEmpty) return undefined;
    const previous = await Promise.all(previousKeys.map(derived));
    return new KeyRing(await derived(key), previous, retiredKekFingerprints, enabled);
  }

  /** Whether wrap sets of earlier times may have to change. */
  get isRotating(): boolean {
    return this.keys.length > 1 || this.retired.size > 0;
  }

  isCurrent({ kekFingerprint }: KeyEnvelope): boolean {
    return Buffer.compare(kekFingerprint, this.current.fingerprint) === 0;
  }

  isRetired({ kekFingerprint }: KeyEnvelope): boolean {
    return this.retired.has(hexOf(kekFingerprint));
  }

  /** Under every key of the ring, so that each node opens it in the middle of a rotation. */
  wrapNew(chosen: Uint8Array | undefined): Promise<Uint8Array> | undefined {
    if (chosen !== undefined) return wrapStreamKey(chosen, KeyOrigin.client, this.keys, fillRandom);
    if (!this.generates) return undefined;
    const key = randomBytes(ENCRYPTION_KEY_SIZE);
    return wrapStreamKey(key, KeyOrigin.server, this.keys, fillRandom).finally(() => key.fill(0));
  }

  /** The stream key in a wrap set; an IggyError with 72 when no key of the ring opens it. */
  open(wrapSet: Uint8Array): Promise<Uint8Array> {
    return openWrapSet(wrapSet, this.keys);
  }
}

async function derived(key: Secret): Promise<KeyEncryptionKey> {
  const bytes = parseEncryptionKey(key.reveal());
  try {
    return await deriveKeyEncryptionKey(bytes);
  } finally {
    bytes.fill(0);
  }
}

export const fillRandom = (bytes: Uint8Array): void => {
  randomFillSync(bytes);
};

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
