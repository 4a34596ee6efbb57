import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibuvIo } from "@iggy/storage";
import { afterEach, expect, it } from "vitest";
import { confirmed, consumer, next, offsetAt, polled, TestNode } from "./node.js";

const directories: string[] = [];
afterEach(async () => {
  for (const path of directories.splice(0)) await rm(path, { recursive: true });
});

it("a partition on a real disk is written, read in memory and cold, stopped and recovered", async () => {
  const path = await mkdtemp(join(tmpdir(), "iggy-partitions-"));
  directories.push(path);
  let node = await TestNode.start({ io: new LibuvIo(), path, limits: { residentBytesMax: 400_000 } });
  const total = 30 * 10;
  for (let i = 0; i < 30; i++) {
    expect(confirmed(await node.send({ count: 10, payloadBytes: 10_000 }, { request: 7000 + i }).answered)).toBe(
      i * 10,
    );
  }
  const all = Array.from({ length: total }, (_, i) => i);
  expect(await node.offsets()).toEqual(all);
  expect(polled(await node.poll({ strategy: next, count: 17, autoCommit: true }).answered).offsets).toEqual(
    all.slice(0, 17),
  );
  node = await node.restarted();
  expect(await node.offsets()).toEqual(all);
  expect(await node.stored(consumer)).toBe(16);
  expect(polled(await node.poll({ strategy: offsetAt(290) }).answered).texts[0]).toBe("m0");
  const again = await node.send({ count: 10, payloadBytes: 10_000 }, { request: 7029 }).answered;
  expect(confirmed(again)).toBe(290);
  expect(confirmed(await node.send({ count: 1 }, { request: 7100 }).answered)).toBe(total);
  await node.stop();
});
