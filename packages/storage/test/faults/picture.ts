import { MemoryIo } from "../../src/index.js";
import { seeded } from "../partition-harness.js";

/** Every file of a disk and its bytes. */
export type Picture = ReadonlyMap<string, Uint8Array>;

export function pictureOf(io: MemoryIo): Picture {
  return new Map(io.tree().map((path) => [path, io.contents(path) ?? new Uint8Array(0)]));
}

/** A disk that holds a picture, all of it on stable storage. */
export async function diskOf(picture: Picture, { boot = 1n, seed = 1 } = {}): Promise<MemoryIo> {
  const io = new MemoryIo({ random: seeded(seed), immediate: { wouldBlock: () => seed % 2 === 0 } }, undefined, boot);
  const directories = new Set([...picture.keys()].map((path) => path.slice(0, path.lastIndexOf("/"))));
  for (const directory of directories) {
    await io.makeDirectory(directory);
    const steps = directory.split("/");
    for (let depth = 1; depth <= steps.length; depth++) await io.syncDirectory(steps.slice(0, depth).join("/"));
  }
  for (const [path, bytes] of picture) io.setContents(path, bytes);
  return io;
}

/** The same picture with one file replaced, or taken away. */
export function withFile(picture: Picture, path: string, bytes: Uint8Array | undefined): Picture {
  const changed = new Map(picture);
  if (bytes === undefined) changed.delete(path);
  else changed.set(path, bytes);
  return changed;
}
