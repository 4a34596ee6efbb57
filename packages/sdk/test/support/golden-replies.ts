import { readFileSync } from "node:fs";
import { bytesOf } from "./captures.js";

interface GoldenReply {
  readonly response: string;
  readonly name: string;
  readonly hex: string;
}

const file = new URL("../../../protocol/test/vectors/responses.json", import.meta.url);
const { cases } = JSON.parse(readFileSync(file, "utf8")) as { readonly cases: readonly GoldenReply[] };

/** Payload of a golden reply, by the name of the reply and of its case. */
export function goldenReply(response: string, name: string): Uint8Array {
  const found = cases.find((each) => each.response === response && each.name === name);
  if (found === undefined) throw new Error(`there is no golden reply ${response}/${name}`);
  return bytesOf(found.hex);
}
