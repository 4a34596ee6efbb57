import { expect } from "vitest";
import { DamagedBatch, type FenceReason, type MemoryIo, PartitionFenced, ReadFailed } from "../../src/index.js";
import { messagesOf, TestPartition } from "../partition-harness.js";
import type { Filled } from "./filled-partition.js";
import { diskOf, pictureOf, type Picture } from "./picture.js";

/**
 * What became of a partition that was found damaged.
 *
 *   whole            every message is served and every stored offset is known
 *   cut              the end of the log is gone, with a warning; its offsets are given to nobody else
 *   cut anew         the same, but new messages get those offsets: the end looks like one that was never acknowledged
 *   begins later     the oldest messages are gone, as retention takes them
 *   damaged read     a reader who comes to the damaged batch gets a typed error; every other message is served
 *   offset skipped   one stored offset is gone, with a warning
 *   offset absent    one stored offset has no file; whoever holds the state of the checkpoint knows it from there
 *   fenced: reason   it serves nothing, and all that was written is as it was found
 */
export type Outcome =
  | "whole"
  | "cut"
  | "cut anew"
  | "begins later"
  | "damaged read"
  | "offset skipped"
  | "offset absent"
  | `fenced: ${FenceReason}`;

/** From worst to best: a later start must not be worse than an earlier one. */
const rank = (outcome: Outcome): number => (outcome.startsWith("fenced") ? 0 : outcome === "whole" ? 2 : 1);

/** Opens the partition, compares everything that it serves, writes to it, and opens it once more. */
export async function judge(picture: Picture, filled: Filled, seed: number): Promise<Outcome> {
  const io = await diskOf(picture, { boot: filled.boot, seed });
  const partition = await open(io, filled);
  if (typeof partition === "string") {
    expect(written(pictureOf(io)), "a fenced partition is left as it is").toEqual(written(picture));
    expect(await open(io.kill(), filled), "and is fenced again").toBe(partition);
    return partition;
  }
  const first = await examine(partition, filled);
  const end = partition.recovered.nextOffset;
  await partition.send(["after the damage"], true);
  const again = await open(io.kill(), filled);
  if (typeof again === "string") throw new Error(`it opened, and then was ${again}`);
  const second = await examine(again, filled, end);
  expect(rank(second), `${first}, then ${second}`).toBeGreaterThanOrEqual(rank(first));
  await again.store.close();
  return first;
}

/** Everything that clients wrote. Indexes are made from it, and records of the partition itself may be brought up to date. */
const written = (picture: Picture): Picture =>
  new Map([...picture].filter(([path]) => /\.log$|\.wal$|\/checkpoint$|\/offsets\//.test(path)));

async function open(io: MemoryIo, { settings }: Filled): Promise<TestPartition | `fenced: ${FenceReason}`> {
  try {
    return await TestPartition.open(io, settings);
  } catch (error) {
    if (error instanceof PartitionFenced) return `fenced: ${error.reason}`;
    throw error;
  }
}

/** Reads everything in every way. Whatever is served must be what was written; anything else throws. */
async function examine(partition: TestPartition, filled: Filled, sentAt?: number): Promise<Outcome> {
  const { served, damaged } = await readAll(partition);
  const expected = new Map(filled.texts.map((text, offset) => [offset, text]));
  if (sentAt !== undefined) expected.set(sentAt, "after the damage");
  for (const [offset, text] of served) expect(text, `offset ${offset}`).toBe(expected.get(offset));
  if (sentAt !== undefined) expect(served.has(sentAt), "what was sent after the damage is there").toBe(true);
  await expectTrueTimes(partition, filled, served, damaged > 0);

  if (damaged > 0) return "damaged read";
  const { length } = filled.texts;
  const isThere = (offset: number): boolean => served.get(offset) === expected.get(offset);
  let begin = 0;
  while (begin < length && (begin === sentAt || !isThere(begin))) begin++;
  let end = length;
  while (end > begin && (end - 1 === sentAt || !isThere(end - 1))) end--;
  const holes = [...filled.texts.keys()].slice(begin, end).filter((offset) => !isThere(offset));
  expect(holes, "nothing is missing between messages").toEqual([]);
  if (end < length) {
    if (sentAt === undefined) expect(partition.warnings.length, "a loss is named").toBeGreaterThan(0);
    return (sentAt ?? partition.recovered.nextOffset) < length ? "cut anew" : "cut";
  }
  if (begin > 0) return "begins later";
  const { offsets } = partition.recovered;
  for (const found of offsets) expect(filled.offsets).toContainEqual(found);
  if (offsets.length === filled.offsets.length) return "whole";
  return partition.warnings.some((warning) => warning.includes("the stored offset is skipped"))
    ? "offset skipped"
    : "offset absent";
}

/** Reads from the beginning; where a read fails it goes on behind the message that can't be given. */
async function readAll({
  store,
  nextOffset,
}: TestPartition): Promise<{ served: Map<number, string>; damaged: number }> {
  const served = new Map<number, string>();
  let damaged = 0;
  for (let startOffset = 0; startOffset < nextOffset;) {
    try {
      const read = await store.read({ startOffset, ceilingOffset: nextOffset - 1, count: 5, maxBytes: 1_000_000 });
      for (const { offset, text } of messagesOf(read)) served.set(offset, text);
      if (read.lastOffset === undefined) break;
      startOffset = read.lastOffset + 1;
    } catch (error) {
      if (!(error instanceof DamagedBatch || error instanceof ReadFailed)) throw error;
      damaged++;
      startOffset++;
    }
  }
  return { served, damaged };
}

/** A search for a time finds the first message at or after it, or says that it can't. */
async function expectTrueTimes(
  { store, nextOffset }: TestPartition,
  { times, texts }: Filled,
  served: ReadonlyMap<number, string>,
  isDamaged: boolean,
): Promise<void> {
  for (const [timestampMicros, offset] of times) {
    for (const [asked, wanted] of [
      [timestampMicros, offset],
      [timestampMicros - 1, offset],
    ] as const) {
      try {
        const found = await store.offsetAt(asked, nextOffset - 1);
        if (isDamaged || served.get(wanted) !== texts[wanted]) continue;
        expect(found, `the first message at or after ${asked}`).toBe(wanted);
      } catch (error) {
        if (!(error instanceof DamagedBatch || error instanceof ReadFailed)) throw error;
        expect(isDamaged, `a search for ${asked} fails: ${error.message}`).toBe(true);
      }
    }
  }
}
