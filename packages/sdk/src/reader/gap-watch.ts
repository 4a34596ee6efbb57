import type { PolledMessages } from "../values/polled-messages.js";
import type { PollingStrategy } from "../values/polling-strategy.js";

/** Where the next message of a partition should be. */
type Expected =
  | { readonly kind: "offset"; readonly offset: bigint }
  /** Behind the stored offset, which only the server knows. */
  | { readonly kind: "stored" };

export interface GapWatchParts {
  readonly stored: (partitionId: number) => Promise<bigint | undefined>;
  readonly onGap: (partitionId: number, from: bigint, to: bigint) => void;
}

/** Notices offsets that are passed over, so that a reader does not go on as if nothing had been lost. */
export class GapWatch {
  readonly #parts: GapWatchParts;
  readonly #expected = new Map<number, Expected>();

  constructor(parts: GapWatchParts) {
    this.#parts = parts;
  }

  /** A partition starts somewhere. The first message and the times before it are no position that could be missed. */
  start(partitionId: number, { kind, value }: PollingStrategy): void {
    if (kind === "offset" && value > 0n) this.#expected.set(partitionId, { kind: "offset", offset: value });
    else if (kind === "next") this.#expected.set(partitionId, { kind: "stored" });
    else this.#expected.delete(partitionId);
  }

  forget(partitionId: number): void {
    this.#expected.delete(partitionId);
  }

  /** A read came. */
  see({ partitionId, messages }: PolledMessages): void {
    const first = messages[0]?.offset;
    const last = messages.at(-1)?.offset;
    if (first === undefined || last === undefined) return;
    const expected = this.#expected.get(partitionId);
    if (expected?.kind === "offset" && first > expected.offset) this.#parts.onGap(partitionId, expected.offset, first);
    if (expected?.kind === "stored" && first > 0n) void this.#compareWithStored(partitionId, first);
    if (last - first + 1n !== BigInt(messages.length)) this.#seeInside(partitionId, messages);
    this.#expected.set(partitionId, { kind: "offset", offset: last + 1n });
  }

  #seeInside(partitionId: number, messages: PolledMessages["messages"]): void {
    let before: bigint | undefined;
    for (const { offset } of messages) {
      if (before !== undefined && offset > before + 1n) this.#parts.onGap(partitionId, before + 1n, offset);
      before = offset;
    }
  }

  async #compareWithStored(partitionId: number, first: bigint): Promise<void> {
    const stored = await this.#parts.stored(partitionId);
    if (stored !== undefined && first > stored + 1n) this.#parts.onGap(partitionId, stored + 1n, first);
  }
}
