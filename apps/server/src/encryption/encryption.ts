import { type ServerOperation, type Stream, streamKeyRewrap, type StreamKeys } from "@iggy/engine";
import { ErrorCode, IggyError, type KeyEnvelope, type RewrapStreamKeys } from "@iggy/protocol";
import type { ServerConfig } from "../config/index.js";
import type { PartitionAddress, PartitionCipher } from "../partitions/index.js";
import type { BatchCipherFactory } from "./batch-cipher.js";
import { hexOf, KeyRing } from "./key-ring.js";
import { rewrap } from "./rewrap.js";
import { refusingCipher, SealingCipher } from "./sealing-cipher.js";

/** Wrap sets that one operation replaces. */
const REWRAPS_PER_OPERATION = 256;

type KnownStream = Pick<Stream, "id" | "name" | "createdOp" | "encryption">;

/** The streams of committed metadata. */
export interface StreamCatalog {
  stream(streamId: number): KnownStream | undefined;
  streams(): Iterable<KnownStream>;
}

/**
 * The 32-byte key of a stream in memory of its own, undefined for a plain stream, or the code that refuses everything of
 * it. Made of plain values, so that it can be handed to another thread; whoever uses the key erases it.
 */
export type OpenedKey = Uint8Array | number | undefined;

/** The cipher of a partition of a stream. The key is erased. */
export function partitionCipher(key: OpenedKey, makeCipher: BatchCipherFactory): PartitionCipher | undefined {
  if (key === undefined) return undefined;
  if (typeof key === "number") return refusingCipher(key);
  const cipher = new SealingCipher(makeCipher(key));
  key.fill(0);
  return cipher;
}

export interface EncryptionDeps {
  readonly makeCipher: BatchCipherFactory;
  /** Metadata may not be there yet when this is made. */
  readonly catalog: () => StreamCatalog;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/**
 * Encryption at rest: wraps the keys of new streams under the server's keys, opens them for the partitions, and follows
 * rotations of the server key. Stream keys are in clear only here and in the ciphers.
 */
export class Encryption {
  private readonly ring: KeyRing | undefined;
  private readonly deps: EncryptionDeps;
  /** Streams that the log has named already, by the op that created them. */
  private readonly named = new Set<number>();

  private constructor(ring: KeyRing | undefined, deps: EncryptionDeps) {
    this.ring = ring;
    this.deps = deps;
  }

  static async open(config: ServerConfig["encryption"], deps: EncryptionDeps): Promise<Encryption> {
    return new Encryption(await KeyRing.of(config), deps);
  }

  /** Absent without a server key. */
  get streamKeys(): { readonly streamKeys?: StreamKeys } {
    return this.ring === undefined ? {} : { streamKeys: this.ring };
  }

  /** Names every stream that can't be served in the log. The others are served all the same. */
  async check(): Promise<void> {
    for (const stream of [...this.deps.catalog().streams()]) {
      const key = await this.keyOf(stream);
      if (key instanceof Uint8Array) key.fill(0);
    }
  }

  /** What stands between a partition and its files: nothing for a plain stream, a refusal where the key can't be had. */
  async cipherOf({ streamId }: Pick<PartitionAddress, "streamId">): Promise<PartitionCipher | undefined> {
    return partitionCipher(await this.openKey(streamId), this.deps.makeCipher);
  }

  /** The key of a stream, for `partitionCipher` here or in another thread. */
  async openKey(streamId: number): Promise<OpenedKey> {
    const stream = this.deps.catalog().stream(streamId);
    // Deleted meanwhile, and its partitions are about to be.
    return stream === undefined ? ErrorCode.HistoryUnavailable : this.keyOf(stream);
  }

  private async keyOf(stream: KnownStream): Promise<OpenedKey> {
    const { encryption } = stream;
    switch (encryption.kind) {
      case "none":
        return undefined;
      case "unreadable":
        this.notServed(stream, ErrorCode.UnsupportedCriticalOption, "this release does not understand its options");
        return ErrorCode.UnsupportedCriticalOption;
      case "wrapped":
        try {
          if (this.ring !== undefined) return await this.ring.open(encryption.wrapSet);
        } catch (error) {
          if (!(error instanceof IggyError)) throw error;
        }
        this.notServed(stream, ErrorCode.CannotDecryptData, unopened(encryption.envelopes));
        return ErrorCode.CannotDecryptData;
    }
  }

  private notServed(stream: KnownStream, code: number, why: string): void {
    if (this.isNamed(stream)) return;
    const { id, name } = stream;
    this.deps.log.error({ streamId: id, stream: name, code }, `the stream ${name} is not served: ${why}`);
  }

  private isNamed({ createdOp }: KnownStream): boolean {
    if (this.named.has(createdOp)) return true;
    this.named.add(createdOp);
    return false;
  }

  /** Operations that bring the wrap sets of all streams to where the rotation of the server key wants them. */
  async dueRewraps(): Promise<ServerOperation[]> {
    const { ring } = this;
    if (ring?.isRotating !== true) return [];
    const entries: RewrapStreamKeys["entries"][number][] = [];
    for (const stream of [...this.deps.catalog().streams()]) {
      const { encryption, id: streamId, createdOp } = stream;
      if (encryption.kind !== "wrapped") continue;
      const [{ keyFingerprint } = {}] = encryption.envelopes;
      if (keyFingerprint === undefined) continue;
      const outcome = await rewrap(encryption.envelopes, ring);
      if (outcome.kind === "replace") {
        entries.push({ streamId, createdOp: BigInt(createdOp), keyFingerprint, wrapSet: outcome.wrapSet });
      } else if (outcome.kind === "stuck") this.leftAlone(stream, encryption.envelopes, outcome.why);
    }
    const operations: ServerOperation[] = [];
    for (let at = 0; at < entries.length; at += REWRAPS_PER_OPERATION) {
      operations.push(streamKeyRewrap(entries.slice(at, at + REWRAPS_PER_OPERATION)));
    }
    return operations;
  }

  private leftAlone(stream: KnownStream, envelopes: readonly KeyEnvelope[], why: "full" | "unopened"): void {
    if (this.isNamed(stream)) return;
    const { id, name } = stream;
    const reason =
      why === "unopened"
        ? unopened(envelopes)
        : `it has envelopes under ${shownKeys(envelopes)}; retire one of them with \`encryption.retired_kek_fingerprints\``;
    this.deps.log.warn(
      { streamId: id, stream: name },
      `the key of the stream ${name} can not be wrapped under the current server key: ${reason}`,
    );
  }
}

const shownKeys = (envelopes: readonly KeyEnvelope[]): string =>
  envelopes.map(({ kekFingerprint }) => hexOf(kekFingerprint)).join(", ");

const unopened = (envelopes: readonly KeyEnvelope[]): string =>
  `no configured server key opens its key; set \`encryption.key\` or \`encryption.previous_keys\` to one with the fingerprint ${shownKeys(envelopes)}`;
