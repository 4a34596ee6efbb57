import type { PollingStrategy } from "@iggy/protocol";

/** Where a read begins: an offset, or whatever the first batch at or after a time turns out to be. */
export type PollStart =
  { readonly kind: "offset"; readonly offset: number } | { readonly kind: "timestamp"; readonly micros: number };

/** What a strategy is resolved against, taken once per read. */
export interface StartFacts {
  /** One past the last committed message. */
  readonly nextOffset: number;
  /** Most messages that the read returns. */
  readonly count: number;
  /** Stored offset of the reader: that of the last message it processed. */
  readonly storedOffset: number | undefined;
}

export function resolveStart(strategy: PollingStrategy, facts: StartFacts): PollStart {
  switch (strategy.kind) {
    case "offset":
      return { kind: "offset", offset: exactOrEnd(strategy.value) };
    case "timestamp":
      return { kind: "timestamp", micros: exactOrEnd(strategy.value) };
    case "first":
      return { kind: "offset", offset: 0 };
    case "last":
      return { kind: "offset", offset: Math.max(0, facts.nextOffset - facts.count) };
    case "next":
      return { kind: "offset", offset: facts.storedOffset === undefined ? 0 : facts.storedOffset + 1 };
  }
}

/** No partition reaches 2^53 messages or microseconds: a larger value lies behind every end, as does the largest one. */
const exactOrEnd = (value: bigint): number =>
  value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
