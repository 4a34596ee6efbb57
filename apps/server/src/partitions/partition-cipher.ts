/** Records as a client gets them. */
export interface OpenedRecords {
  /** Whole records, in memory of their own. */
  readonly pieces: readonly Uint8Array[];
  readonly bytes: number;
  readonly messagesCount: number;
  readonly lastOffset: number;
}

/**
 * Stands between a partition of an encrypted stream and its files: what is stored went through `sealBatch`, and what
 * clients read comes out of `openRecords`. A partition of a plain stream has none.
 */
export interface PartitionCipher {
  /** 0, or the code that refuses every request: the key of the stream can't be had, so nothing is taken and nothing given. */
  readonly refusal: number;
  /**
   * The batch to store, in memory of its own, for a checked batch of a producer; or the code that refuses it.
   */
  sealBatch(batch: Uint8Array): Uint8Array | number;
  /**
   * The stored pieces of a read, decrypted: as many whole records as decrypt, or the code of what is wrong with the first
   * one.
   */
  openRecords(pieces: readonly Uint8Array[]): OpenedRecords | number;
}
