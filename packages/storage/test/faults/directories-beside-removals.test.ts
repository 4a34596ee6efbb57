import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LibuvIo } from "../../src/index.js";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "iggy-directories-"));
});
afterAll(() => rm(root, { recursive: true }));

/** A topic that takes over the number of a deleted one is made while the empty folders of its predecessor go. */
it("a directory is made whatever becomes of its empty parents meanwhile", { timeout: 60_000 }, async () => {
  const io = new LibuvIo();
  const steps = ["topic", "partitions", "0"];
  const path = (depth: number): string => [root, ...steps.slice(0, depth)].join("/");
  const work = { isOver: false };
  const remove = async (): Promise<void> => {
    while (!work.isOver) for (let depth = steps.length; depth > 0; depth--) await io.removeEmptyDirectory(path(depth));
  };
  const removing = remove();
  try {
    // Several at once, so that one finds a parent that another made and a third takes away.
    for (let round = 0; round < 800; round++)
      await Promise.all(Array.from({ length: 8 }, () => io.makeDirectory(path(steps.length))));
  } finally {
    work.isOver = true;
    await removing;
  }
  await io.makeDirectory(path(steps.length));
  expect(await io.list(path(steps.length))).toEqual([]);
});
