import type { Block, BlockSource, Slab } from "../memory/index.js";
import type { SendQueue } from "./send-queue.js";

const TABLE_BYTES = 4096;
/** The message header takes 56 bytes. */
const FIRST_BUFFER_WORD = 16;
const BUFFER_WORDS = 4;
export const BUFFERS_PER_MESSAGE = (TABLE_BYTES / 4 - FIRST_BUFFER_WORD) / BUFFER_WORDS;
/** Tables kept for the next messages; more are given back. */
const KEPT_MAX = 256;

/** A message header and its table of buffers, in the kernel's layout. */
export interface MessageTable {
  readonly block: Block;
  readonly words: Int32Array;
}

/**
 * Tables for messages of several pieces.
 *
 *     word 0 name 2 its length 4 address of the buffers 6 their number 8 control 10 its length 12 flags
 *     word 16 + 4n address of buffer n, 18 + 4n its length
 */
export class MessageTables {
  private readonly slab: Slab;
  private readonly blocks: BlockSource;
  private readonly free: MessageTable[] = [];

  constructor(slab: Slab, blocks: BlockSource) {
    this.slab = slab;
    this.blocks = blocks;
  }

  /** A table with the first spans of a queue; undefined when there is no memory. */
  fill(queue: SendQueue, spans: number): MessageTable | undefined {
    const table = this.free.pop() ?? this.create();
    if (table === undefined) return undefined;
    const { words } = table;
    words[6] = spans;
    for (let at = 0; at < spans; at++) {
      const offset = queue.offset(at);
      const word = FIRST_BUFFER_WORD + at * BUFFER_WORDS;
      words[word] = this.slab.addressLow(offset);
      words[word + 1] = this.slab.addressHigh(offset);
      words[word + 2] = queue.length(at);
    }
    return table;
  }

  release(table: MessageTable): void {
    if (this.free.length < KEPT_MAX) this.free.push(table);
    else table.block.release();
  }

  close(): void {
    for (const { block } of this.free.splice(0)) block.release();
  }

  private create(): MessageTable | undefined {
    const block = this.blocks.allocate(TABLE_BYTES);
    if (block === undefined) return undefined;
    const words = new Int32Array(block.bytes.buffer, block.bytes.byteOffset, TABLE_BYTES / 4).fill(0);
    const buffers = block.offset + FIRST_BUFFER_WORD * 4;
    words[4] = this.slab.addressLow(buffers);
    words[5] = this.slab.addressHigh(buffers);
    return { block, words };
  }
}
