import { ErrorCode } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import {
  BATCHES_REMEMBERED,
  PRODUCER_IDLE_MICROS,
  type ProducerBatch,
  PRODUCERS_MAX,
  ProducerTable,
} from "../../src/partition/producers.js";

const MAX_SEQUENCE = 2 ** 31 - 1;
const batch = (epoch: number, sequence: number, messagesCount = 10, producerId = 7n): ProducerBatch => ({
  producerId,
  epoch,
  sequence,
  messagesCount,
});

/** Commits batches of 10 messages one after the other, from sequence 0 on. */
function tableWith(batches: readonly ProducerBatch[], timestampMicros = 0): ProducerTable {
  const table = new ProducerTable();
  batches.forEach((entry, i) => {
    commit(table, entry, i * 10, i + 1, timestampMicros + i);
  });
  return table;
}

function commit(table: ProducerTable, entry: ProducerBatch, baseOffset: number, op: number, timestampMicros: number) {
  const { sequence, messagesCount } = entry;
  table.commit(entry, { sequence, messagesCount, baseOffset, op }, timestampMicros);
}

const epochTwo = (count: number): ProducerBatch[] => Array.from({ length: count }, (_, i) => batch(2, i * 10));
const refused = (code: number) => ({ kind: "refuse", code });

describe("a batch of an idempotent producer", () => {
  it.each<[what: string, ProducerTable, ProducerBatch, expected: object]>([
    ["of an unknown producer must start at 0", tableWith([]), batch(0, 10), refused(ErrorCode.ProducerUnknown)],
    ["of an unknown producer is taken in any epoch", tableWith([]), batch(9, 0), { kind: "accept" }],
    ["of an older epoch is fenced", tableWith(epochTwo(1)), batch(1, 10), refused(ErrorCode.ProducerEpochFenced)],
    ["of a newer epoch starts over", tableWith(epochTwo(1)), batch(3, 0), { kind: "accept" }],
    [
      "of a newer epoch can not start behind 0",
      tableWith(epochTwo(1)),
      batch(3, 10),
      refused(ErrorCode.ProducerSequenceOutOfOrder),
    ],
    ["follows the last one", tableWith(epochTwo(3)), batch(2, 30), { kind: "accept" }],
    [
      "equal to the newest is a duplicate",
      tableWith(epochTwo(3)),
      batch(2, 20),
      { kind: "duplicate", batch: { sequence: 20, messagesCount: 10, baseOffset: 20, op: 3 } },
    ],
    [
      "equal to the fifth last is a duplicate",
      tableWith(epochTwo(7)),
      batch(2, 20),
      { kind: "duplicate", batch: { sequence: 20, messagesCount: 10, baseOffset: 20, op: 3 } },
    ],
    [
      "older than the five is out of order",
      tableWith(epochTwo(7)),
      batch(2, 10),
      refused(ErrorCode.ProducerSequenceOutOfOrder),
    ],
    ["that leaves a gap is out of order", tableWith(epochTwo(1)), batch(2, 11), refused(92)],
    ["that overlaps is out of order", tableWith(epochTwo(1)), batch(2, 5), refused(92)],
    ["with the same start and another count is out of order", tableWith(epochTwo(1)), batch(2, 0, 9), refused(92)],
  ])("%s", (_what, table, candidate, expected) => {
    expect(table.check(candidate, 100)).toEqual(expected);
  });

  it("continues at 0 after the largest sequence", () => {
    const table = tableWith([batch(0, 0)]);
    commit(table, batch(0, 10, MAX_SEQUENCE - 14), 10, 2, 1);
    commit(table, batch(0, MAX_SEQUENCE - 4, 10), 20, 3, 2);
    expect(table.check(batch(0, 5), 3)).toEqual({ kind: "accept" });
    expect(table.check(batch(0, 0, 10), 3)).toMatchObject({ kind: "duplicate" });
  });

  it("may be number 0 of producer 0", () => {
    const table = tableWith([batch(0, 0, 10, 0n)]);
    expect(table.check(batch(0, 10, 1, 0n), 1)).toEqual({ kind: "accept" });
    expect(table.check(batch(0, 0, 10, 0n), 1)).toMatchObject({ kind: "duplicate" });
  });
});

describe("an uncommitted batch", () => {
  it("makes its resend uncertain, and a duplicate once it commits", () => {
    const table = new ProducerTable();
    table.ordered(batch(0, 0));
    expect(table.check(batch(0, 0), 1)).toEqual(refused(ErrorCode.TransientNotCommitted));
    commit(table, batch(0, 0), 0, 1, 1);
    expect(table.check(batch(0, 0), 2)).toMatchObject({ kind: "duplicate", batch: { baseOffset: 0 } });
  });

  it("is followed by the next batch before it commits", () => {
    const table = new ProducerTable();
    table.ordered(batch(0, 0));
    expect(table.check(batch(0, 10), 1)).toEqual({ kind: "accept" });
    expect(table.check(batch(0, 20), 1)).toEqual(refused(92));
  });

  it("of a newer epoch fences the older one at once", () => {
    const table = tableWith(epochTwo(2));
    table.ordered(batch(3, 0));
    expect(table.check(batch(2, 20), 5)).toEqual(refused(ErrorCode.ProducerEpochFenced));
    expect(table.check(batch(2, 10), 5)).toEqual(refused(ErrorCode.ProducerEpochFenced));
    expect(table.check(batch(3, 10), 5)).toEqual({ kind: "accept" });
  });

  it("is forgotten when the node gives its uncommitted operations up", () => {
    const table = tableWith(epochTwo(1));
    table.ordered(batch(2, 10));
    table.dropPending();
    expect(table.check(batch(2, 10), 5)).toEqual({ kind: "accept" });
  });
});

describe("forgetting producers", () => {
  it("forgets one after 24 hours without a batch, by the time of prepares", () => {
    const table = tableWith(epochTwo(1), 1_000);
    expect(table.check(batch(2, 10), 1_000 + PRODUCER_IDLE_MICROS - 1)).toEqual({ kind: "accept" });
    expect(table.check(batch(2, 10), 1_000 + PRODUCER_IDLE_MICROS)).toEqual(refused(ErrorCode.ProducerUnknown));
    commit(table, batch(0, 0, 1, 8n), 50, 9, 1_000 + PRODUCER_IDLE_MICROS);
    expect([...table.entries()].map(([id]) => id)).toEqual([8n]);
  });

  it("drops the one that is idle longest when there are too many", () => {
    const table = new ProducerTable();
    for (let i = 0; i < PRODUCERS_MAX; i++) commit(table, batch(0, 0, 1, BigInt(i)), i, i + 1, i);
    commit(table, batch(0, 1, 1, 0n), 5000, 5000, 5000);
    commit(table, batch(0, 0, 1, 99_999n), 5001, 5001, 5001);
    expect([...table.entries()]).toHaveLength(PRODUCERS_MAX);
    expect(table.check(batch(0, 1, 1, 1n), 5002)).toEqual(refused(ErrorCode.ProducerUnknown));
    expect(table.check(batch(0, 2, 1, 0n), 5002)).toEqual({ kind: "accept" });
  });

  it(`keeps ${String(BATCHES_REMEMBERED)} batches of the current epoch only`, () => {
    const table = tableWith([...epochTwo(9), batch(3, 0)]);
    const [entry] = [...table.entries()];
    expect(entry?.[1]).toMatchObject({ epoch: 3, batches: [{ sequence: 0 }] });
  });
});
