/** A piece of memory that is counted. It comes back to its allocator with the last `release`. */
export interface Block {
  /** At least as many bytes as were asked for. Not to be touched after the last `release`. */
  readonly bytes: Uint8Array;
  /** Where it lies in its slab. Another thread adopts it by this number. */
  readonly offset: number;
  retain(): void;
  release(): void;
}

/** Where blocks come from. */
export interface BlockSource {
  readonly budgetBytes: number;
  /** Bytes of blocks that are not released, rounded up to what they take. */
  readonly usedBytes: number;
  /** Undefined when the budget, or the memory, is used up. The bytes hold whatever was there before. */
  allocate(bytes: number): Block | undefined;
  /**
   * A block that another thread, or another part of this one, handed over by its offset, with one reference that it had.
   */
  adopt(offset: number): Block;
  /** Gives memory that was not used since the last call back to the system; returns the bytes given back. */
  trim(): number;
}
