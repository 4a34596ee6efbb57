/** Checksum of the journal's last entry, which the next one repeats, as two signed words: these need no allocation. */
export class ChainEnd {
  low: number;
  high: number;

  constructor(low: number, high: number) {
    this.low = low;
    this.high = high;
  }

  static of(checksum: bigint): ChainEnd {
    return new ChainEnd(Number(BigInt.asIntN(32, checksum)), Number(BigInt.asIntN(32, checksum >> 32n)));
  }

  get checksum(): bigint {
    return BigInt(this.low >>> 0) | (BigInt(this.high >>> 0) << 32n);
  }

  moveTo(words: Uint32Array): void {
    this.low = (words[0] ?? 0) | 0;
    this.high = (words[1] ?? 0) | 0;
  }

  copy(other: ChainEnd): void {
    this.low = other.low;
    this.high = other.high;
  }
}
