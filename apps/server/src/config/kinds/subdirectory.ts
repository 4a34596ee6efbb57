import { isAbsolute, normalize } from "node:path";
import { refuse } from "./kind.js";

/** Names in the data directory that belong to stored data. */
const RESERVED: ReadonlySet<string> = new Set(["metadata", "streams", "state", "partition-initialization"]);

/**
 * A directory below the data directory, which the server may empty: it must not lead out of it, be it, or be where
 * data is stored.
 */
export function subdirectory(text: string): string {
  const path = normalize(text).replace(/\/+$/, "");
  const [first = ""] = path.split("/");
  if (text === "" || path === "." || isAbsolute(path) || first === "..") refuse("must be a directory below `path`");
  if (RESERVED.has(first)) refuse("is where the server stores its data");
  return path;
}
