const CAPACITY = 256;

/** Offsets from one thread to another, in 4096 bytes; 0 ends it. */
export class Lane {
  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer((CAPACITY + 2) * 4);
  }

  private readonly words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory);
  }

  /** False when it is full. */
  put(offset: number): boolean {
    const at = Atomics.load(this.words, 0);
    if (at - Atomics.load(this.words, 1) === CAPACITY) return false;
    this.words[2 + (at % CAPACITY)] = offset / 4096;
    Atomics.store(this.words, 0, at + 1);
    Atomics.notify(this.words, 0);
    return true;
  }

  take(): number {
    const at = Atomics.load(this.words, 1);
    while (Atomics.load(this.words, 0) === at) Atomics.wait(this.words, 0, at);
    const value = this.words[2 + (at % CAPACITY)] ?? 0;
    Atomics.store(this.words, 1, at + 1);
    return value * 4096;
  }
}
