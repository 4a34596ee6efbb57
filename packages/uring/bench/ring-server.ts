// The way of this package: receives into the slab, writes from there.
import fs from "node:fs";
import {
  type Addon,
  type Block,
  type ReceiveBuffer,
  Ring,
  RingListener,
  RingStream,
  Slab,
  SlabAllocator,
  type StreamHandler,
} from "../src/index.js";
import { FILE_BYTES, type Shape } from "./shapes.js";

const RECEIVE_BYTES = 16 * 1024;

export function serveByRing(addon: Addon, shape: Shape, path: string): number {
  const slab = Slab.map(addon, { bytes: 1024 * 1024 * 1024 });
  const blocks = new SlabAllocator(slab);
  const ring = Ring.open({ addon, slab, blocks });
  const file = { descriptor: fs.openSync(path, "w+"), position: 0 };
  const listener = RingListener.listen(ring, {
    host: "127.0.0.1",
    port: 0,
    onAccept: (descriptor) => {
      const frames = new Frames(blocks, shape, (block, offset) => {
        if (shape.writes) {
          if (file.position + shape.requestBytes > FILE_BYTES) file.position = 0;
          const bytes = block.bytes.subarray(offset, offset + shape.requestBytes);
          addon.pwritev(file.descriptor, [bytes], file.position);
          file.position += shape.requestBytes;
        }
        stream.send([reply]);
      });
      const reply = new Uint8Array(shape.replyBytes);
      const stream = new RingStream(ring, descriptor, frames);
      stream.resume();
    },
  });
  return listener.port;
}

/** Frames of one known size: small ones many to a block, a large one in a block of its own. */
class Frames implements StreamHandler {
  private readonly blocks: SlabAllocator;
  private readonly shape: Shape;
  private readonly frame: (block: Block, offset: number) => void;
  private readonly blockBytes: number;
  private block: Block | undefined;
  private filled = 0;

  constructor(blocks: SlabAllocator, shape: Shape, frame: (block: Block, offset: number) => void) {
    this.blocks = blocks;
    this.shape = shape;
    this.frame = frame;
    this.blockBytes = Math.max(RECEIVE_BYTES, shape.requestBytes);
  }

  buffer(): ReceiveBuffer | undefined {
    this.block ??= this.blocks.allocate(this.blockBytes);
    if (this.block === undefined) throw new Error("out of blocks");
    const isLarge = this.blockBytes === this.shape.requestBytes;
    const length = (isLarge ? this.blockBytes : this.block.bytes.length) - this.filled;
    return { block: this.block, offset: this.filled, length, exact: isLarge && this.filled > 0 };
  }

  received(bytes: number): void {
    const { block } = this;
    if (block === undefined) return;
    const { requestBytes } = this.shape;
    const end = this.filled + bytes;
    let at = 0;
    for (; at + requestBytes <= end; at += requestBytes) this.frame(block, at);
    if (at > 0) block.bytes.copyWithin(0, at, end);
    this.filled = end - at;
    if (this.filled > 0) return;
    this.block = undefined;
    block.release();
  }

  ended(): void {
    // The load ends by closing its connections.
  }

  closed(): void {
    this.block?.release();
  }
}
