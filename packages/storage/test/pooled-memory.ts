import type { Memory, ReadMemory } from "../src/index.js";

const POISON = 0xdd;

/** A block that turns to poison when its last holder lets go; holding it again, or letting go once more, is a fault. */
class PoisonedBlock implements Memory {
  readonly bytes: Uint8Array;
  holders = 1;
  private readonly onFreed: (block: PoisonedBlock) => void;

  constructor(bytes: number, onFreed: (block: PoisonedBlock) => void) {
    this.bytes = new Uint8Array(bytes);
    this.onFreed = onFreed;
  }

  retain(): void {
    if (this.holders === 0) throw new Error("retained after the last release");
    this.holders++;
  }

  release(): void {
    if (this.holders === 0) throw new Error("released once too often");
    if (--this.holders > 0) return;
    this.bytes.fill(POISON);
    this.onFreed(this);
  }
}

/** Pooled memory of a test. Records that are received one after another share a block, as they do in a socket's. */
export class TestPool implements ReadMemory {
  private readonly blockBytes: number;
  private readonly refuses: () => boolean;
  private readonly live = new Set<PoisonedBlock>();
  private current: PoisonedBlock | undefined;
  private used = 0;

  constructor(blockBytes = 4096, refuses: () => boolean = () => false) {
    this.blockBytes = blockBytes;
    this.refuses = refuses;
  }

  /** Blocks that somebody else than the receiver holds, in bytes. */
  get heldBytes(): number {
    let bytes = 0;
    for (const block of this.live) if (block.holders > (block === this.current ? 1 : 0)) bytes += block.bytes.length;
    return bytes;
  }

  allocate(bytes: number): PoisonedBlock | undefined {
    return this.refuses() ? undefined : this.take(bytes);
  }

  /** Bytes as they lie in a received block, which the caller holds. */
  receive(bytes: Uint8Array): { readonly bytes: Uint8Array; readonly memory: Memory } {
    if (this.current === undefined || this.used + bytes.length > this.current.bytes.length) {
      this.current?.release();
      this.current = this.take(Math.max(this.blockBytes, bytes.length));
      this.used = 0;
    }
    const view = this.current.bytes.subarray(this.used, this.used + bytes.length);
    view.set(bytes);
    this.used += bytes.length;
    this.current.retain();
    return { bytes: view, memory: this.current };
  }

  private take(bytes: number): PoisonedBlock {
    const block = new PoisonedBlock(bytes, (freed) => this.live.delete(freed));
    this.live.add(block);
    return block;
  }
}
