import {
  decodeResponse,
  encodeBatch,
  encodeHeaderFields,
  HeaderKind,
  pollMessages,
  type PollReply,
} from "@iggy/protocol";
import fc from "fast-check";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type IntegerForm, parseJson } from "../../../src/http/json/index.js";
import { polledMessagesShape } from "../../../src/http/messages/polled-shape.js";
import { polledMessagesText } from "../../../src/http/messages/polled-text.js";

interface VectorCase {
  readonly response: string;
  readonly name: string;
}

/** Cases of polled messages by their name. */
function polledCases<T extends VectorCase>(file: string, list: string): ReadonlyMap<string, T> {
  const path = new URL(`../../../../../packages/protocol/test/vectors/${file}.json`, import.meta.url);
  const { [list]: cases = [] } = JSON.parse(readFileSync(path, "utf8")) as Record<string, readonly T[]>;
  return new Map(cases.filter(({ response }) => response === "PollMessages").map((found) => [found.name, found]));
}

const textOf = (reply: PollReply, integers: IntegerForm = "number"): string =>
  [...polledMessagesText(reply, integers)].join("");

const context = { incarnation: 3n, ownerGeneration: 0n, metadataOp: 2n ** 64n - 1n };
const replyOf = (payloads: readonly Uint8Array[], userHeaders: Uint8Array = new Uint8Array(0)): PollReply => ({
  partitionId: 1,
  currentOffset: 2n ** 64n - 1n,
  messagesCount: payloads.length,
  context,
  records: encodeBatch(
    payloads.map((payload, index) => ({
      id: 2n ** 128n - 1n - BigInt(index),
      payload,
      userHeaders,
      originTimestamp: 5,
    })),
  ),
});

describe("polled messages", () => {
  const wire = polledCases<VectorCase & { readonly hex: string }>("responses", "cases");
  const json = polledCases<VectorCase & { readonly json: string }>("http_json", "responses");

  it.each([...json.keys()])("are the official JSON of the official bytes: %s", (name) => {
    const reply = decodeResponse(pollMessages, Buffer.from(wire.get(name)?.hex ?? "", "hex"));
    expect(textOf(reply)).toBe(json.get(name)?.json);
  });

  it("keep every digit, as numbers and as texts", () => {
    const reply = replyOf([Buffer.from("a")]);
    const exact = polledMessagesShape.read(parseJson(textOf(reply)));
    expect(exact.messages[0]?.header.id).toBe(2n ** 128n - 1n);
    expect(exact.current_offset).toBe(2n ** 64n - 1n);
    expect(exact.context.metadataOp).toBe(2n ** 64n - 1n);
    const asText = textOf(reply, "string");
    expect(polledMessagesShape.read(parseJson(asText))).toEqual(exact);
    // Nothing is left that a reader could round.
    expect(asText).not.toMatch(/[:[,][0-9]{11}/);
    expect(asText).toContain('"offset":"0"');
  });

  it("show the payloads and headers of any batch", () => {
    const block = fc.uint8Array({ maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 10 }),
        block,
        (payloads, headers) => {
          const read = polledMessagesShape.read(parseJson(textOf(replyOf(payloads, Uint8Array.from(headers)))));
          expect(read.count).toBe(payloads.length);
          expect(read.messages.map(({ payload }) => [...payload])).toEqual(payloads.map((payload) => [...payload]));
          expect(read.messages.map(({ header }) => header.payload_length)).toEqual(
            payloads.map(({ length }) => length),
          );
        },
      ),
    );
  });

  it.each([49_151, 49_152, 49_153, 98_304, 98_305, 1_000_000])(
    "with a payload of %d bytes come in pieces that make one base64 text",
    (length) => {
      const payload = randomBytes(length);
      const pieces = [...polledMessagesText(replyOf([payload, payload]), "number")];
      for (const piece of pieces) expect(piece.length).toBeLessThan(140_000);
      const read = polledMessagesShape.read(parseJson(pieces.join("")));
      for (const message of read.messages) expect(Buffer.compare(message.payload, payload)).toBe(0);
    },
  );

  it("take at most 16 characters of JSON for each byte of the reply", () => {
    const smallest = encodeHeaderFields(
      Array.from({ length: 7000 }, (_, i) => ({
        key: { kind: HeaderKind.raw, bytes: Uint8Array.of(1 + (i & 0x7f), i >> 7) },
        value: { kind: HeaderKind.raw, bytes: Uint8Array.of(1) },
      })),
    );
    for (const reply of [
      replyOf(Array.from({ length: 100 }, () => Uint8Array.of(1))),
      replyOf([Uint8Array.of(1)], smallest),
    ]) {
      expect(textOf(reply, "string").length).toBeLessThan(16 * (40 + reply.records.length));
    }
  });
});
