import { type Codec, HEADER_SIZE, Writer } from "@iggy/protocol";

/** Frames up to this size share slabs: a small typed array of its own costs more than what it holds. */
const maxSharedBytes = 4096;
const slabBytes = 65_536;

/**
 * Makes the buffers of request frames: the encoded body, with room in front for the header. A frame is then one buffer
 * and leaves in one write.
 */
export class FrameBuffers {
  #slab = new Uint8Array(0);
  #used = 0;

  allocate(bodyLength: number): Uint8Array {
    const size = HEADER_SIZE + bodyLength;
    if (size > maxSharedBytes) return new Uint8Array(size);
    if (this.#used + size > this.#slab.length) {
      this.#slab = new Uint8Array(slabBytes);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used += size;
    return this.#slab.subarray(at, at + size);
  }

  encode<T>(codec: Codec<T>, value: T): Uint8Array {
    const buffer = this.allocate(codec.size(value));
    codec.write(new Writer(buffer, HEADER_SIZE), value);
    return buffer;
  }

  /** A body that was encoded elsewhere. */
  copyOf(body: Uint8Array): Uint8Array {
    const buffer = this.allocate(body.length);
    buffer.set(body, HEADER_SIZE);
    return buffer;
  }

  empty(): Uint8Array {
    return this.allocate(0);
  }
}
