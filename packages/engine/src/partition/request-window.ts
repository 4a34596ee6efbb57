/** Requests below the highest one that the window still tells apart. */
export const REQUEST_WINDOW = 128;

export type RequestState = "new" | "applied" | "too-old";

/**
 * Which request numbers of a session were applied: the highest one and a bit for each of the 128 numbers from it
 * downwards. Numbers have gaps, since a client counts over all its partitions, and may arrive out of order.
 */
export class RequestWindow {
  private top: number;
  // Bit i of the four words, lowest word first, stands for the number `top - i`.
  private w0: number;
  private w1: number;
  private w2: number;
  private w3: number;

  constructor(top = 0, words: readonly [number, number, number, number] = [0, 0, 0, 0]) {
    this.top = top;
    [this.w0, this.w1, this.w2, this.w3] = words;
  }

  /** Highest number applied, 0 for none. */
  get highest(): number {
    return this.top;
  }

  get words(): readonly [number, number, number, number] {
    return [this.w0 >>> 0, this.w1 >>> 0, this.w2 >>> 0, this.w3 >>> 0];
  }

  state(request: number): RequestState {
    if (request > this.top) return "new";
    const age = this.top - request;
    if (age >= REQUEST_WINDOW) return "too-old";
    return (this.word(age >>> 5) >>> (age & 31)) & 1 ? "applied" : "new";
  }

  record(request: number): void {
    if (request > this.top) {
      this.shift(request - this.top);
      this.top = request;
      this.w0 |= 1;
      return;
    }
    const age = this.top - request;
    if (age >= REQUEST_WINDOW) return;
    const bit = 1 << (age & 31);
    switch (age >>> 5) {
      case 0:
        this.w0 |= bit;
        break;
      case 1:
        this.w1 |= bit;
        break;
      case 2:
        this.w2 |= bit;
        break;
      default:
        this.w3 |= bit;
    }
  }

  private word(index: number): number {
    if (index === 0) return this.w0;
    if (index === 1) return this.w1;
    return index === 2 ? this.w2 : this.w3;
  }

  /** Makes every bit `by` numbers older. */
  private shift(by: number): void {
    let rest = by;
    for (; rest >= 32; rest -= 32) {
      if (rest >= REQUEST_WINDOW) {
        this.w0 = this.w1 = this.w2 = this.w3 = 0;
        return;
      }
      this.w3 = this.w2;
      this.w2 = this.w1;
      this.w1 = this.w0;
      this.w0 = 0;
    }
    if (rest === 0) return;
    this.w3 = (this.w3 << rest) | (this.w2 >>> (32 - rest));
    this.w2 = (this.w2 << rest) | (this.w1 >>> (32 - rest));
    this.w1 = (this.w1 << rest) | (this.w0 >>> (32 - rest));
    this.w0 <<= rest;
  }
}
