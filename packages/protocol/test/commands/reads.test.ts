import { describe, expect, it } from "vitest";
import {
  checkFetchReply,
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  fetchMessages,
  type FetchReply,
  fetchSections,
  pollMessages,
  pollMessagesDeferred,
  getPartitionRoute,
  sendConfirmations,
  sendMessages,
  loginRegister,
  WireError,
} from "../../src/index.js";
import { bytesOf, fieldsOf, hexOf, type JsonObject, plain, textOf, vectors } from "../golden-layouts.js";

const messages = vectors("messages");
const requests = vectors("requests");

const requestOf = (command: string, name: string): Uint8Array =>
  bytesOf(
    textOf(requests["cases"]?.find((entry) => entry["command"] === command && entry["name"] === name) ?? {}, "hex"),
  );

describe("poll replies", () => {
  for (const entry of messages["poll_responses"] ?? []) {
    it(`prefix of ${textOf(entry, "name")}`, () => {
      const { records, ...prefix } = decodeResponse(pollMessages, bytesOf(textOf(entry, "hex")));
      const fields = fieldsOf(entry["fields"] ?? null) as JsonObject;
      expect(plain(prefix)).toEqual({
        partitionId: fields["partitionId"],
        currentOffset: fields["currentOffset"],
        messagesCount: fields["messagesCount"],
        context: fields["context"],
      });
      expect(records).toHaveLength(textOf(entry, "hex").length / 2 - 40);
    });
  }

  it("report a short prefix with the code of its own", () => {
    for (const command of [pollMessages, pollMessagesDeferred]) {
      expect(() => decodeResponse(command, new Uint8Array(39))).toThrow(expect.objectContaining({ code: 82 }));
    }
  });
});

describe("fetch replies", () => {
  for (const entry of messages["fetch_responses"] ?? []) {
    it(textOf(entry, "name"), () => {
      const hex = textOf(entry, "hex");
      const reply = decodeResponse(fetchMessages, bytesOf(hex));
      const { sections } = fieldsOf(entry["fields"] ?? null) as { sections: JsonObject[] };
      expect(plain(reply.sections)).toEqual(
        sections.map((section) => Object.fromEntries(Object.entries(section).filter(([key]) => key !== "batches"))),
      );
      expect(hexOf(encodeResponse(fetchMessages, reply))).toBe(hex);
      const parts = fetchSections(reply).map(({ records }) => hexOf(records));
      expect(parts.join("")).toBe(hexOf(reply.records));
    });
  }

  // Whether the records themselves decode is for the message decoder, so these cases only look at the table. A table
  // that ends early is an early end here; the official decoder counts it among the violated rules.
  for (const entry of messages["negative"] ?? []) {
    if (entry["type"] !== "FetchReply") continue;
    it(`refuse ${textOf(entry, "name")}`, () => {
      expect(() => decodeResponse(fetchMessages, bytesOf(textOf(entry, "hex")))).toThrow(
        expect.objectContaining({ name: "WireError", code: 4 }),
      );
    });
  }

  const request = decodeRequest(fetchMessages, requestOf("FetchMessages", "rich"));
  const section = {
    partitionId: 7,
    status: 0,
    currentOffset: 9n,
    messagesCount: 500,
    context: { incarnation: 1n, ownerGeneration: 0n, metadataOp: 1n },
    nextOffset: 10n,
    recordsLen: 0,
  };
  const reply = (...sections: FetchReply["sections"]): FetchReply => ({ sections, records: new Uint8Array(0) });

  it("answer each partition that was asked for at most once, and no other", () => {
    expect(() => {
      checkFetchReply(request, reply(section));
      checkFetchReply(request, reply());
    }).not.toThrow();
    expect(() => checkFetchReply(request, reply({ ...section, partitionId: 1 }))).toThrow(/not asked for/);
    expect(() => checkFetchReply(request, reply(section, { ...section, messagesCount: 0 }))).toThrow(/twice/);
  });

  it("hold no more messages than were asked for", () => {
    const over = reply(section, { ...section, partitionId: 2, messagesCount: 1 });
    expect(() => checkFetchReply(request, over)).toThrow(expect.objectContaining({ code: 4 }));
  });
});

describe("confirmations of a committed send", () => {
  it("are none when the reply tells none or does not decode, since the batch is stored", () => {
    const one = { streamId: 1, topicId: 2, partitionId: 3, baseOffset: 4n };
    const payload = encodeResponse(sendMessages, { confirmations: [one] });
    expect(sendConfirmations(payload)).toEqual([one]);
    expect(sendConfirmations(payload.subarray(0, 0))).toEqual([]);
    expect(sendConfirmations(payload.subarray(0, 23))).toEqual([]);
    expect(sendConfirmations(new Uint8Array([...payload, 0]))).toEqual([]);
  });
});

describe("requests that wait", () => {
  it("are refused before they are sent, as a server would refuse them", () => {
    const poll = decodeRequest(pollMessagesDeferred, requestOf("PollMessagesDeferred", "client_defaults"));
    expect(() => encodeRequest(pollMessagesDeferred, { ...poll, minCount: 101 })).toThrow(WireError);
    expect(() => encodeRequest(pollMessagesDeferred, { ...poll, maxBytes: 343 })).toThrow(WireError);
    const fetch = decodeRequest(fetchMessages, requestOf("FetchMessages", "rich"));
    expect(() => encodeRequest(fetchMessages, { ...fetch, targets: [] })).toThrow(WireError);
  });
});

describe("replies that do not decode", () => {
  it("carry the code that clients report for the command", () => {
    expect(() => decodeResponse(loginRegister, new Uint8Array(0))).toThrow(expect.objectContaining({ code: 4 }));
    expect(() => decodeResponse(getPartitionRoute, new Uint8Array(24))).toThrow(expect.objectContaining({ code: 4 }));
    expect(() => decodeResponse(getPartitionRoute, new Uint8Array(26))).toThrow(expect.objectContaining({ code: 4 }));
  });
});
