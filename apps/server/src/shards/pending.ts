/**
 * Requests that wait for another shard, by the numbers under which they went there. A number is used again once its
 * request is answered, so the other side can keep its part in an array.
 */
export class Pending<T> {
  private readonly entries: (T | undefined)[] = [];
  private readonly free: number[] = [];
  private readonly capacity: number;

  /** `capacity` bounds the requests under way. */
  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get isFull(): boolean {
    return this.size >= this.capacity;
  }

  get size(): number {
    return this.entries.length - this.free.length;
  }

  /** Ask `isFull` first. */
  add(entry: T): number {
    const token = this.free.pop() ?? this.entries.length;
    this.entries[token] = entry;
    return token;
  }

  /** Exactly once per number: an unknown one is a fault of the other side. */
  take(token: number): T {
    const entry = this.entries[token];
    if (entry === undefined) throw new Error(`an answer to request ${token} of this shard, which waits for none`);
    this.entries[token] = undefined;
    this.free.push(token);
    return entry;
  }

  has(token: number): boolean {
    return this.entries[token] !== undefined;
  }
}
