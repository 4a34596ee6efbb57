import type { Block } from "../memory/index.js";
import type { Ring } from "./ring.js";

/** The longest path that Linux takes, with the zero that ends it. */
const PATH_BYTES_MAX = 4096;
const PLACES = 16;

/** A path in memory that the kernel can reach. */
export interface PlacedPath {
  readonly offset: number;
}

/** Lends paths a place in the slab for the time of an operation. There are few; whoever comes later waits. */
export class PathDesk {
  private readonly block: Block;
  private readonly free: number[] = [...Array(PLACES).keys()];
  private readonly waiting: (() => void)[] = [];
  private readonly encoder = new TextEncoder();

  constructor(ring: Ring) {
    const block = ring.blocks.allocate(PLACES * 2 * PATH_BYTES_MAX);
    if (block === undefined) throw new RangeError("the block source has no room for paths");
    this.block = block;
    ring.atClose(() => block.release());
  }

  /** Runs with one or two paths placed. */
  async lend<T>(
    paths: readonly [string, string?],
    use: (first: PlacedPath, second: PlacedPath) => Promise<T>,
  ): Promise<T> {
    while (this.free.length === 0) await new Promise<void>((wake) => this.waiting.push(wake));
    const place = this.free.pop() ?? 0;
    try {
      const [first, second = ""] = paths;
      return await use(this.put(place * 2, first), this.put(place * 2 + 1, second));
    } finally {
      this.free.push(place);
      this.waiting.shift()?.();
    }
  }

  private put(half: number, path: string): PlacedPath {
    if (path.includes("\0")) throw new TypeError("a path holds no zero byte");
    const at = half * PATH_BYTES_MAX;
    const room = this.block.bytes.subarray(at, at + PATH_BYTES_MAX);
    const { read, written } = this.encoder.encodeInto(path, room);
    if (read < path.length || written === PATH_BYTES_MAX) {
      throw new RangeError(`a path has fewer than ${PATH_BYTES_MAX} bytes; this one begins with ${path.slice(0, 60)}`);
    }
    room[written] = 0;
    return { offset: this.block.offset + at };
  }
}
