import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * The kernel's text files under one root, which is `/` except in tests. A file that is missing or unreadable, as all
 * of them are on other systems than Linux, is undefined: each figure then has its "unknown" value.
 */
export class KernelFiles {
  readonly #root: string;

  constructor(root = "/") {
    this.#root = root;
  }

  async text(path: string): Promise<string | undefined> {
    return readFile(join(this.#root, path), "utf8").catch(() => undefined);
  }

  /** Number of entries of a directory, or undefined. */
  async entries(path: string): Promise<readonly string[] | undefined> {
    return readdir(join(this.#root, path)).catch(() => undefined);
  }

  /** The `name: value` lines of a file such as `/proc/self/status`. */
  async fields(path: string): Promise<ReadonlyMap<string, string>> {
    const text = (await this.text(path)) ?? "";
    return new Map(
      text.split("\n").flatMap((line) => {
        const separator = line.indexOf(":");
        return separator === -1 ? [] : [[line.slice(0, separator), line.slice(separator + 1).trim()]];
      }),
    );
  }
}

/** The cores of a kernel list such as `0-3,8`. */
export function parseCoreList(text: string): number[] {
  return text
    .trim()
    .split(",")
    .filter((part) => /^\d+(-\d+)?$/.test(part))
    .flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    });
}
