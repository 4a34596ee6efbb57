import type { Block, BlockSource } from "../memory/index.js";

/** Copies of small or foreign pieces are put beside each other in blocks of this size. */
const COPY_BLOCK_BYTES = 64 * 1024;

/** Memory in the kernel's reach for bytes that lie elsewhere. Shared by all streams of a ring. */
export class SendMemory {
  private readonly blocks: BlockSource;
  private block: Block | undefined;
  private filled = 0;

  constructor(blocks: BlockSource) {
    this.blocks = blocks;
  }

  /** The block that the next copy goes to; undefined when there is no memory. Retain it for as long as the copy lives. */
  current(): Block | undefined {
    if (this.block === undefined || this.filled === this.block.bytes.length) {
      this.block?.release();
      this.block = this.blocks.allocate(COPY_BLOCK_BYTES);
      this.filled = 0;
    }
    return this.block;
  }

  /** Copies as much as the block has room for, right behind the copy before. Returns how much that was. */
  copy(block: Block, bytes: Uint8Array, from: number): number {
    const length = Math.min(bytes.length - from, block.bytes.length - this.filled);
    block.bytes.set(length === bytes.length ? bytes : bytes.subarray(from, from + length), this.filled);
    this.filled += length;
    return length;
  }

  /** Where the next copy begins in the slab. */
  offsetIn(block: Block): number {
    return block.offset + this.filled;
  }

  /** Lets go of the block that further copies would go to. */
  close(): void {
    this.block?.release();
    this.block = undefined;
  }
}
