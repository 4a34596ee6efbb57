import { BATCH_HEADER_SIZE, MessageCursor, sliceBatch } from "@iggy/protocol";
import type { Memory, ReadRequest, ReadResult } from "../contracts.js";

export const EMPTY_RESULT: ReadResult = {
  pieces: [],
  memory: [],
  bytes: 0,
  messagesCount: 0,
  firstOffset: undefined,
  lastOffset: undefined,
};

/** More pieces of memory than this are looked up in a set. */
const LOOK_THROUGH_MAX = 16;

/**
 * Gathers the messages of one read from records that are offered in log order. A record that is wanted whole goes out by
 * reference; one that is cut by the start, the count or the ceiling as a new header and a reference to its frames.
 */
export class Selection {
  /** The next wanted offset. */
  nextOffset: number;
  private readonly ceilingOffset: number;
  private readonly maxBytes: number;
  private countLeft: number;
  private readonly pieces: Uint8Array[] = [];
  private readonly memory: Memory[] = [];
  /** The same as `memory`, once that has become too long to look through. */
  private held: Set<Memory> | undefined;
  private bytes = 0;
  private messagesCount = 0;
  private firstOffset: number | undefined;

  constructor(request: ReadRequest) {
    this.nextOffset = request.startOffset;
    this.ceilingOffset = request.ceilingOffset;
    this.maxBytes = request.maxBytes;
    this.countLeft = request.count;
  }

  get isEmpty(): boolean {
    return this.messagesCount === 0;
  }

  get isFull(): boolean {
    return this.countLeft <= 0 || this.nextOffset > this.ceilingOffset;
  }

  get messagesLeft(): number {
    return Math.min(this.countLeft, this.ceilingOffset - this.nextOffset + 1);
  }

  get bytesLeft(): number {
    return this.maxBytes - this.bytes;
  }

  /**
   * Offers the next record, and what it lies in; false when nothing behind it is wanted. Records below the wanted offset
   * are passed over. The memory of what is taken is retained for whoever gets the result.
   */
  offer(record: Uint8Array, baseOffset: number, count: number, memory: Memory | undefined): boolean {
    if (this.isFull || baseOffset > this.ceilingOffset) return false;
    const from = Math.max(0, this.nextOffset - baseOffset);
    if (from >= count) return true;
    const to = Math.min(count, this.ceilingOffset - baseOffset + 1, from + this.countLeft);
    const taken = from === 0 && to === count ? this.takeWhole(record) : this.takePart(record, from, to);
    const end = taken === "whole" ? to : from + taken;
    if (end === from) return false;
    if (memory !== undefined) this.hold(memory);
    this.firstOffset ??= baseOffset + from;
    this.nextOffset = baseOffset + end;
    this.messagesCount += end - from;
    this.countLeft -= end - from;
    return end === count && !this.isFull;
  }

  result(): ReadResult {
    if (this.isEmpty) return EMPTY_RESULT;
    const { pieces, memory, bytes, messagesCount, firstOffset } = this;
    return { pieces, memory, bytes, messagesCount, firstOffset, lastOffset: this.nextOffset - 1 };
  }

  /** Each memory once, however many records lie in it; neighbours often share one. */
  private hold(memory: Memory): void {
    const { length } = this.memory;
    if (this.memory[length - 1] === memory) return;
    if (length >= LOOK_THROUGH_MAX) {
      this.held ??= new Set(this.memory);
      if (this.held.has(memory)) return;
      this.held.add(memory);
    } else if (this.memory.includes(memory)) return;
    memory.retain();
    this.memory.push(memory);
  }

  private takeWhole(record: Uint8Array): "whole" | number {
    if (this.bytes + record.length > this.maxBytes) return this.takeFirstThatFit(record, 0, undefined);
    this.pieces.push(record);
    this.bytes += record.length;
    return "whole";
  }

  private takePart(record: Uint8Array, from: number, to: number): number {
    const slice = sliceBatch(record, 0, from, to);
    const bytes = slice.header.length + slice.frames.length;
    if (this.bytes + bytes > this.maxBytes) return this.takeFirstThatFit(record, from, to);
    this.pieces.push(slice.header, slice.frames);
    this.bytes += bytes;
    return to - from;
  }

  /** Only the first record is cut for its size, to its first message at the least; later ones wait for the next read. */
  private takeFirstThatFit(record: Uint8Array, from: number, to: number | undefined): number {
    if (!this.isEmpty) return 0;
    const cursor = new MessageCursor().records(record);
    let index = 0;
    let start = 0;
    let end = from;
    while (cursor.next() && (to === undefined || index < to)) {
      if (index === from) start = cursor.frameOffset;
      if (index >= from) {
        const bytes = BATCH_HEADER_SIZE + cursor.frameEnd - start;
        if (index > from && bytes > this.maxBytes) break;
        end = index + 1;
      }
      index++;
    }
    const slice = sliceBatch(record, 0, from, end);
    this.pieces.push(slice.header, slice.frames);
    this.bytes += slice.header.length + slice.frames.length;
    return end - from;
  }
}
