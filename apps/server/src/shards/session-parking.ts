import { randomInt } from "node:crypto";
import type { SessionParking } from "../partitions/index.js";
import type { ShardPlan } from "./boot.js";
import { murmur3OfU64 } from "./placement.js";

/**
 * Words of the shared memory: the salt, then a counter for each bucket. Sessions share the few buckets by chance alone; two
 * that do, and wait with very many reads both, have less room. None ever has more.
 */
const SALT = 0;
const BUCKETS_AT = 1;
const BUCKETS = 2 ** 16;
const SALT_END = 2 ** 31;
const LOW_48 = 0xffff_ffff_ffffn;

/** The counters of a node. The salt keeps clients from choosing a bucket together with somebody else. */
export function createSessionParking(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((BUCKETS_AT + BUCKETS) * 4);
  new Int32Array(memory)[SALT] = randomInt(SALT_END);
  return memory;
}

export const sessionParkingOf = ({ sessionParking, partitions }: ShardPlan): SessionParking =>
  new SharedSessionParking(sessionParking, partitions.deferredPollMaxPendingPerSession);

/** The waiting reads of sessions over all shards, which count them together. */
export class SharedSessionParking implements SessionParking {
  private readonly words: Int32Array;
  private readonly salt: number;
  private readonly max: number;

  /** `max` is what one session may have. */
  constructor(memory: SharedArrayBuffer, max: number) {
    this.words = new Int32Array(memory);
    this.salt = this.words[SALT] ?? 0;
    this.max = max;
  }

  take(client: bigint): boolean {
    const word = this.wordOf(client);
    if (Atomics.add(this.words, word, 1) < this.max) return true;
    Atomics.sub(this.words, word, 1);
    return false;
  }

  release(client: bigint): void {
    Atomics.sub(this.words, this.wordOf(client), 1);
  }

  private wordOf(client: bigint): number {
    let hash = this.salt;
    for (let rest = client; rest > 0n; rest >>= 48n) hash = murmur3OfU64(Number(rest & LOW_48)) ^ Math.imul(hash, 31);
    return BUCKETS_AT + (murmur3OfU64(hash >>> 0) & (BUCKETS - 1));
  }
}
