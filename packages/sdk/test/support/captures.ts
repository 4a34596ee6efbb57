import { readFileSync } from "node:fs";

/** Frames that the official client of the protocol sent, and the replies that it accepted. */
export interface CapturedRequest {
  readonly event: "request";
  readonly code: number;
  readonly request: string;
  readonly request_checksum: "random" | "zero";
  readonly header_hex: string;
  readonly body_hex: string;
}

export interface CapturedReply {
  readonly event: "reply";
  readonly code: number;
  readonly header_hex: string;
  readonly body_hex: string;
}

interface CapturedEvent {
  readonly event: "connected" | "disconnected";
}

export interface CapturedCall {
  readonly call: string;
  readonly frames: readonly (CapturedRequest | CapturedReply | CapturedEvent)[];
}

interface Captures {
  readonly single_node: readonly CapturedCall[];
}

const file = new URL("../../../protocol/test/vectors/captures.json", import.meta.url);
const captures = JSON.parse(readFileSync(file, "utf8")) as Captures;

export const singleNode: readonly CapturedCall[] = captures.single_node;

export const requestsOf = (call: CapturedCall): readonly CapturedRequest[] =>
  call.frames.filter((frame): frame is CapturedRequest => frame.event === "request");

export const repliesOf = (call: CapturedCall): readonly CapturedReply[] =>
  call.frames.filter((frame): frame is CapturedReply => frame.event === "reply");

export const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from({ length: hex.length / 2 }, (_, i) => Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16));

export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
