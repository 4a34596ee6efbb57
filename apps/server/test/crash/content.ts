import { Seeded } from "../raw-client/index.js";

/** Names a batch: who sent it, and its number there. */
export interface BatchName {
  readonly lane: number;
  readonly batch: number;
}

/** Kinds of batches: how many messages, and how many bytes behind the head of each. */
const shapes = {
  one: (random: Seeded) => ({ messages: 1, bytes: random.integer(300) }),
  small: (random: Seeded) => ({ messages: 1 + random.integer(7), bytes: random.integer(600) }),
  large: (random: Seeded) => ({ messages: 50 + random.integer(200), bytes: 100 + random.integer(900) }),
  /** Often more than a segment by itself. */
  huge: (random: Seeded) => ({ messages: 1, bytes: 400_000 + random.integer(1_000_000) }),
} as const;
export type Shape = keyof typeof shapes;

/** Lane, batch, place in the batch and size of the batch; u32 each. */
const HEAD_BYTES = 16;
const POOL_BYTES = 2 * 1024 * 1024;

/**
 * What every message of a run holds. It follows from the seed and the name alone, so that nothing has to be remembered to
 * tell whether a stored message is the one that was sent.
 */
export class Content {
  private readonly seed: number;
  private readonly pool: Buffer;

  constructor(seed: number) {
    this.seed = seed;
    const random = new Seeded(seed);
    const words = Uint32Array.from({ length: POOL_BYTES / 4 }, () => random.integer(0xffff_ffff));
    this.pool = Buffer.from(words.buffer);
  }

  payloadsOf(name: BatchName, shape: Shape): Buffer[] {
    const { messages, bytes } = shapes[shape](new Seeded(this.mixed(name, 0)));
    return Array.from({ length: messages }, (_, index) => this.payload(name, index, messages, bytes));
  }

  /** The batch that a stored message claims to be of. */
  static nameOf(payload: Uint8Array): (BatchName & { readonly index: number; readonly count: number }) | undefined {
    if (payload.length < HEAD_BYTES) return undefined;
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const [lane, batch, index, count] = [0, 4, 8, 12].map((at) => view.getUint32(at, true));
    return { lane: lane ?? 0, batch: batch ?? 0, index: index ?? 0, count: count ?? 0 };
  }

  isTrue(name: BatchName, index: number, shape: Shape, payload: Uint8Array): boolean {
    const { messages, bytes } = shapes[shape](new Seeded(this.mixed(name, 0)));
    return index < messages && this.payload(name, index, messages, bytes).equals(payload);
  }

  private payload(name: BatchName, index: number, count: number, bytes: number): Buffer {
    const payload = Buffer.allocUnsafe(HEAD_BYTES + bytes);
    payload.writeUInt32LE(name.lane, 0);
    payload.writeUInt32LE(name.batch, 4);
    payload.writeUInt32LE(index, 8);
    payload.writeUInt32LE(count, 12);
    const start = this.mixed(name, index + 1) % (POOL_BYTES - bytes);
    this.pool.copy(payload, HEAD_BYTES, start, start + bytes);
    return payload;
  }

  private mixed({ lane, batch }: BatchName, salt: number): number {
    let mixed = this.seed;
    for (const part of [lane, batch, salt]) {
      mixed = Math.imul(mixed ^ part, 0x9e3779b1);
      mixed ^= mixed >>> 15;
    }
    return mixed >>> 0;
  }
}
