import { AssertionError } from "node:assert";
import type { Block } from "./block.js";

/**
 * A block that finds out wrong use. It counts the references of this thread, so each object is good for one life, where
 * the ordinary ones are used again.
 */
export class CheckedBlock implements Block {
  readonly offset: number;
  private readonly block: Block;
  private references = 1;

  constructor(block: Block) {
    this.block = block;
    this.offset = block.offset;
  }

  get bytes(): Uint8Array {
    this.check("used");
    return this.block.bytes;
  }

  retain(): void {
    this.check("retained");
    this.references++;
    this.block.retain();
  }

  release(): void {
    this.check("released");
    this.references--;
    this.block.release();
  }

  private check(what: string): void {
    if (this.references > 0) return;
    throw new AssertionError({ message: `the block at ${this.offset} was ${what} after its last release` });
  }
}
