import { checkFrameSize, frameSize, HEADER_SIZE } from "@iggy/protocol";
import type { Memory } from "@iggy/storage";
import { asError } from "../as-error.js";
import type { ChannelEvents } from "./channel.js";

/** Gives a block of at least so many bytes, held once; undefined while there is no room. */
export type AllocateBlock<Block extends Memory> = (bytes: number) => Block | undefined;

/** Where the next bytes of the peer go. */
export interface Landing<Block extends Memory> {
  readonly block: Block;
  /** Within the block. */
  readonly offset: number;
  readonly length: number;
  /** It is the rest of a large frame: nothing can be done before all of it is there. */
  readonly exact: boolean;
}

/** What a quiet connection holds, so that thousands of them cost little. */
const QUIET_BYTES = 4096;
/** A block that small frames share at most. */
const SHARED_BYTES_MAX = 16 * 1024;
/** Less room than this at the end of a block is not worth a receive. */
const ROOM_BYTES_MIN = 1024;
/** The rest of a frame above this is received in one go. */
const EXACT_BYTES_MIN = 16 * 1024;
/**
 * Most memory that a frame reserves on its claimed size alone. A larger one moves to a block four times as large as its
 * bytes arrive, so a peer that claims the limit and falls silent costs one step, not the limit.
 */
const FIRST_STEP_BYTES = 1024 * 1024;
const GROWTH = 4;

/**
 * Cuts what arrives in pooled blocks into frames, in place. A frame is handed on as a part of its block; whoever keeps it
 * retains the block. Each block is filled from front to back and never written to again, so frames that are kept stay as
 * they are. A large frame begins in a small block and moves, with the little of it that is there, to a block of its own
 * size.
 */
export class BlockFraming<Block extends Memory> {
  private readonly events: ChannelEvents;
  private readonly allocate: AllocateBlock<Block>;
  private block: Block | undefined;
  /** Bytes of the block that hold something, and where the first incomplete frame among them begins. */
  private filled = 0;
  private start = 0;
  /** Size of the next block, unless a frame needs a larger one. */
  private sharedBytes = QUIET_BYTES;
  private offeredBytes = 0;
  private closed = false;

  constructor(events: ChannelEvents, allocate: AllocateBlock<Block>) {
    this.events = events;
    this.allocate = allocate;
  }

  /** Nothing arrives here any more. */
  get isClosed(): boolean {
    return this.closed;
  }

  /** Bytes of the memory that it holds now. */
  get heldBytes(): number {
    return this.block?.bytes.length ?? 0;
  }

  /** Undefined while there is no memory for it; ask again later. */
  landing(): Landing<Block> | undefined {
    if (this.closed) return undefined;
    const needed = this.neededBytes();
    const { block } = this;
    const room = block === undefined ? 0 : block.bytes.length - this.filled;
    if (block === undefined || needed > block.bytes.length - this.start || room < Math.min(ROOM_BYTES_MIN, needed)) {
      return this.moveTo(Math.max(needed, this.sharedBytes));
    }
    return this.landingIn(block);
  }

  /** So many bytes arrived at the last landing. */
  received(bytes: number): void {
    const { events, block } = this;
    if (block === undefined) throw new Error("bytes arrived without a landing for them");
    this.filled += bytes;
    // Everything that was offered is full, so more is waiting.
    this.sharedBytes = bytes === this.offeredBytes ? SHARED_BYTES_MAX : QUIET_BYTES;
    events.heard();
    // Frames are looked at while their connection may end and let go of everything.
    block.retain();
    try {
      this.cut(block);
    } catch (error) {
      this.close();
      events.malformed(asError(error));
    }
    block.release();
    events.settled();
  }

  /** Lets everything go. */
  close(): void {
    this.closed = true;
    this.drop();
  }

  private cut(block: Block): void {
    const { events } = this;
    const { bytes } = block;
    while (!this.closed) {
      const size = frameSize(bytes, this.start, this.filled - this.start);
      if (size === undefined) break;
      checkFrameSize(size, events.maxFrameBytes);
      if (this.filled - this.start < size) break;
      const frame = bytes.subarray(this.start, this.start + size);
      this.start += size;
      events.frame(frame, block);
    }
    if (this.closed || this.start < this.filled) return;
    // A block that was made for one large frame must not wait for the next one: that may be long in coming.
    if (bytes.length > SHARED_BYTES_MAX || bytes.length - this.filled < ROOM_BYTES_MIN) this.drop();
  }

  /** Bytes from the start of the incomplete frame on that the block must hold. */
  private neededBytes(): number {
    const held = this.filled - this.start;
    if (held === 0 || this.block === undefined) return HEADER_SIZE;
    const size = frameSize(this.block.bytes, this.start, held);
    if (size === undefined) return HEADER_SIZE;
    return Math.min(size, Math.max(FIRST_STEP_BYTES, held < FIRST_STEP_BYTES ? 0 : nextStep(held)));
  }

  private moveTo(bytes: number): Landing<Block> | undefined {
    const next = this.allocate(bytes);
    if (next === undefined) return undefined;
    const old = this.block;
    if (old !== undefined) {
      next.bytes.set(old.bytes.subarray(this.start, this.filled));
      old.release();
    }
    this.block = next;
    this.filled -= this.start;
    this.start = 0;
    return this.landingIn(next);
  }

  private landingIn(block: Block): Landing<Block> {
    const { filled, start } = this;
    const room = block.bytes.length - filled;
    const held = filled - start;
    const size = held === 0 ? undefined : frameSize(block.bytes, start, held);
    const rest = size === undefined ? 0 : Math.min(size - held, room);
    const exact = rest >= EXACT_BYTES_MIN;
    this.offeredBytes = exact ? 0 : room;
    return { block, offset: filled, length: exact ? rest : room, exact };
  }

  private drop(): void {
    const { block } = this;
    this.block = undefined;
    this.filled = this.start = 0;
    block?.release();
  }
}

/** The step that a frame with so many bytes has come to. */
function nextStep(held: number): number {
  let step = FIRST_STEP_BYTES;
  while (step <= held) step *= GROWTH;
  return step;
}
