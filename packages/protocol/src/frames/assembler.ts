import { checkFrameSize, frameSize, HEADER_SIZE, MAX_FRAME_SIZE_DEFAULT } from "./size.js";

/**
 * Most memory that a frame reserves on its claimed size alone. A larger frame grows fourfold as its bytes arrive, so a
 * peer that claims the limit and falls silent costs one step, not the limit.
 */
const FIRST_STEP = 1_048_576;
const GROWTH = 4;

const none = new Uint8Array(0);

/**
 * Cuts a byte stream into frames. A frame that lies whole inside one chunk is handed on as a view of it; any other is
 * gathered in a buffer of its own, which the receiver may keep. Holds at most one incomplete frame.
 */
export class FrameAssembler {
  /** Largest frame taken, header included, in bytes. May change between frames. */
  maxFrameSize: number;
  /** Header bytes of a frame whose size is not known yet. */
  readonly #head = new Uint8Array(HEADER_SIZE);
  /** The frame being gathered, once its size is known. */
  #frame: Uint8Array = none;
  /** Claimed size of that frame; 0 while it is not known. */
  #size = 0;
  #filled = 0;

  constructor(maxFrameSize = MAX_FRAME_SIZE_DEFAULT) {
    this.maxFrameSize = maxFrameSize;
  }

  /** Bytes of an incomplete frame that are held. At the end of a stream anything but 0 means that it was cut. */
  get pendingBytes(): number {
    return this.#filled;
  }

  /**
   * Takes the next bytes and calls `onFrame` for each frame that they complete, in order. Views handed on are valid as
   * long as `chunk` is. Throws a FrameError for a size below 256 or above the limit; the stream can't be read on after
   * that, nor after `onFrame` threw.
   */
  push(chunk: Uint8Array, onFrame: (frame: Uint8Array) => void): void {
    let at = this.#filled > 0 ? this.#resume(chunk, onFrame) : 0;
    while (at < chunk.length) {
      const size = frameSize(chunk, at);
      if (size === undefined) {
        this.#head.set(chunk.subarray(at));
        this.#filled = chunk.length - at;
        return;
      }
      checkFrameSize(size, this.maxFrameSize);
      if (at + size > chunk.length) {
        this.#begin(size, chunk.subarray(at));
        return;
      }
      onFrame(chunk.subarray(at, at + size));
      at += size;
    }
  }

  /** Drops an incomplete frame, for the next stream. */
  reset(): void {
    this.#frame = none;
    this.#size = 0;
    this.#filled = 0;
  }

  /** Completes the frame that earlier chunks began. Returns how much of `chunk` it took. */
  #resume(chunk: Uint8Array, onFrame: (frame: Uint8Array) => void): number {
    let at = 0;
    if (this.#size === 0) {
      at = Math.min(chunk.length, HEADER_SIZE - this.#filled);
      this.#head.set(chunk.subarray(0, at), this.#filled);
      this.#filled += at;
      const size = frameSize(this.#head, 0, this.#filled);
      if (size === undefined) return at;
      checkFrameSize(size, this.maxFrameSize);
      this.#begin(size, this.#head.subarray(0, this.#filled));
    }
    const taken = Math.min(chunk.length - at, this.#size - this.#filled);
    this.#reserve(this.#filled + taken);
    this.#frame.set(chunk.subarray(at, at + taken), this.#filled);
    this.#filled += taken;
    if (this.#filled === this.#size) {
      const frame = this.#frame;
      this.reset();
      onFrame(frame);
    }
    return at + taken;
  }

  #begin(size: number, start: Uint8Array): void {
    this.#size = size;
    this.#frame = new Uint8Array(Math.min(size, Math.max(FIRST_STEP, start.length)));
    this.#frame.set(start);
    this.#filled = start.length;
  }

  #reserve(needed: number): void {
    if (needed <= this.#frame.length) return;
    const grown = new Uint8Array(Math.min(this.#size, Math.max(needed, this.#frame.length * GROWTH)));
    grown.set(this.#frame.subarray(0, this.#filled));
    this.#frame = grown;
  }
}
