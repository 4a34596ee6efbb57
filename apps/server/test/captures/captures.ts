import { readFileSync } from "node:fs";

/** A frame that passed between the official client and a stand-in of a server. */
export type CapturedFrame =
  | {
      readonly event: "request" | "reply";
      readonly code: number;
      readonly header_hex: string;
      readonly body_hex: string;
    }
  | { readonly event: "connected" | "disconnected" };

/** One call of the client's API, what it reported, and the frames that it made. */
export interface CapturedCall {
  readonly call: string;
  readonly outcome: unknown;
  readonly frames: readonly CapturedFrame[];
}

interface Captures {
  readonly single_node: readonly CapturedCall[];
}

const file = new URL("../../../../packages/protocol/test/vectors/captures.json", import.meta.url);

/** What the official client did with one node, call by call. */
export const capturedCalls: readonly CapturedCall[] = (JSON.parse(readFileSync(file, "utf8")) as Captures).single_node;

export interface CapturedRequest {
  readonly code: number;
  readonly header: Uint8Array;
  readonly body: Uint8Array;
}

export function requestsOf({ frames }: CapturedCall): CapturedRequest[] {
  return frames.flatMap((frame) =>
    frame.event === "request"
      ? [{ code: frame.code, header: bytesOf(frame.header_hex), body: bytesOf(frame.body_hex) }]
      : [],
  );
}

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
