import { expect, it } from "vitest";
import { filesOf, memoryDisk, messagesOf, type Settings, TestPartition } from "../partition-harness.js";
import { damagesOf } from "./damage.js";
import { diskOf, pictureOf, withFile } from "./picture.js";

const BATCHES = 40;
const HEADER_BYTES = 32;
const ENTRY_BYTES = 24;
const TIMESTAMP_AT = 8;
const settings: Settings = { segmentSizeBytes: 200_000, residentBytesMax: 0 };

async function indexed() {
  const io = await memoryDisk();
  const partition = await TestPartition.open(io, settings);
  const times: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    await partition.send([`m${batch}`, "x".repeat(6000)]);
    times.push(partition.clockMicros);
  }
  await partition.checkpoint();
  await partition.store.close();
  const [path = ""] = filesOf(io, ".index");
  return { picture: pictureOf(io), times, path, index: io.contents(path) ?? new Uint8Array(0) };
}

async function lookUp(partition: TestPartition, offset: number): Promise<string | undefined> {
  const { store, nextOffset } = partition;
  const read = await store.read({ startOffset: offset, ceilingOffset: nextOffset - 1, count: 1, maxBytes: 100_000 });
  return messagesOf(read)[0]?.text;
}

it("an index with a flipped bit leads every reader of an offset to it", { timeout: 120_000 }, async () => {
  const { picture, path, index } = await indexed();
  expect(index.length).toBeGreaterThan(HEADER_BYTES + 8 * ENTRY_BYTES);
  for (const { place, bytes } of damagesOf("a flipped bit", index, 3)) {
    const partition = await TestPartition.open(await diskOf(withFile(picture, path, bytes)), settings);
    for (let batch = 0; batch < BATCHES; batch += 3)
      expect(await lookUp(partition, 2 * batch), place).toBe(`m${batch}`);
  }
});

it("an index with a flipped bit leads every search for a time to the first message of that time", async () => {
  const { picture, path, index, times } = await indexed();
  const wrong: string[] = [];
  for (let entry = 1; entry < (index.length - HEADER_BYTES) / ENTRY_BYTES; entry++) {
    for (let bit = 0; bit < 16; bit++) {
      const bytes = Uint8Array.from(index);
      const place = HEADER_BYTES + entry * ENTRY_BYTES + TIMESTAMP_AT + (bit >> 3);
      bytes[place] = (bytes[place] ?? 0) ^ (1 << (bit & 7));
      const partition = await TestPartition.open(await diskOf(withFile(picture, path, bytes)), settings);
      for (const [batch, time] of times.entries()) {
        const found = await partition.store.offsetAt(time, partition.nextOffset - 1);
        if (found !== 2 * batch)
          wrong.push(`bit ${bit} of entry ${entry}: the time of offset ${2 * batch} gives ${found}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});
