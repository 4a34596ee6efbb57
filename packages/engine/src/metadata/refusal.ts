/** Why an operation changed nothing. One object per code: refusals are compared and cached, never filled in. */
export class Refusal {
  /** Number of the error table. */
  readonly code: number;

  private constructor(code: number) {
    this.code = code;
  }

  private static readonly known = new Map<number, Refusal>();

  static of(code: number): Refusal {
    let refusal = Refusal.known.get(code);
    if (refusal === undefined) Refusal.known.set(code, (refusal = new Refusal(code)));
    return refusal;
  }
}

export const refuse = (code: number): Refusal => Refusal.of(code);
