/**
 * A window on a fixed layout inside a larger buffer. Reusable: moving it allocates only when the bytes lie in another
 * ArrayBuffer, so a connection that reads into one slab builds none per frame.
 */
export abstract class BufferView {
  /** The bytes that hold the layout, and where in them it starts. */
  bytes: Uint8Array = none;
  base = 0;
  #buffer: ArrayBufferLike = none.buffer;
  /** View of the whole buffer behind `bytes`. */
  protected data: DataView = noneView;
  /** Where the layout starts in `data`. */
  protected start = 0;

  /** The caller has checked that the layout lies inside `bytes`. */
  protected moveTo(bytes: Uint8Array, offset: number): void {
    const buffer = bytes.buffer;
    if (buffer !== this.#buffer) {
      this.#buffer = buffer;
      this.data = new DataView(buffer);
    }
    this.bytes = bytes;
    this.base = offset;
    this.start = bytes.byteOffset + offset;
  }
}

/** What an unplaced view reads: zeros, as many as the widest layout. */
const none = new Uint8Array(256);
const noneView = new DataView(none.buffer);
