import { isUtf8 } from "node:buffer";
import { JsonError, type JsonValue, parseJson } from "@iggy/protocol";

/** Parses a body in UTF-8 without loss. */
export function parseJsonBytes(bytes: Buffer): JsonValue {
  if (!isUtf8(bytes)) throw new JsonError("the JSON is malformed: it is not UTF-8");
  return parseJson(bytes.toString("utf8"));
}
