import { partitionGroup, type PartitionNumbers } from "@iggy/protocol";

const HIGH = 2 ** 32;
const C1 = 0xcc9e_2d51;
const C2 = 0x1b87_3593;

/** Which shard owns each partition: a function of its numbers and the count alone, so every shard knows it. */
export class Placement {
  readonly shardCount: number;

  constructor(shardCount: number) {
    this.shardCount = shardCount;
  }

  shardOf(partition: PartitionNumbers): number {
    if (this.shardCount === 1) return 0;
    return (murmur3OfU64(partitionGroup(partition)) >>> 16) % this.shardCount;
  }
}

/** MurmurHash3 x86 32 with seed 0 over the 8 little-endian bytes of a whole number below 2^53. */
export function murmur3OfU64(value: number): number {
  let hash = mixed(0, value >>> 0);
  hash = mixed(hash, Math.floor(value / HIGH));
  hash ^= 8;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mixed(hash: number, block: number): number {
  const scrambled = Math.imul(rotated(Math.imul(block, C1), 15), C2);
  return (Math.imul(rotated(hash ^ scrambled, 13), 5) + 0xe654_6b64) | 0;
}

const rotated = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));
