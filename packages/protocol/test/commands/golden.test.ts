import { describe, expect, it } from "vitest";
import {
  type AnyCommand,
  commandByCode,
  commandByOperation,
  commands,
  decodeRequest,
  decodeResponse,
  encodeRequest,
  encodeResponse,
  fetchMessages,
  fetchReplyLimit,
  retiredCommands,
} from "../../src/index.js";
import {
  bytesOf,
  expectRefused,
  fieldsOf,
  hexOf,
  type Json,
  type JsonObject,
  plain,
  textOf,
  vectors,
} from "../golden-layouts.js";

const requests = vectors("requests");
const responses = vectors("responses");

const titled = (title: unknown): AnyCommand => {
  const found = commands.find((command) => command.title === title);
  if (found === undefined) throw new Error(`no command ${String(title)}`);
  return found;
};

/** Request fields that tell what follows from the others. */
const derived = new Set(["metadataLength", "producer", "messages", "batch", "replyLimitBytes"]);

function requestFields(entry: JsonObject): Json {
  const fields = fieldsOf(entry["fields"] ?? null) as JsonObject;
  if (entry["command"] !== "SendMessages" && entry["command"] !== "FetchMessages") return fields;
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !derived.has(key)));
}

describe("command table", () => {
  it("has the 52 commands in registry order, with their names and operations", () => {
    expect(commands.map(({ code, title, name, operation }) => ({ code, title, name, operation }))).toEqual(
      requests["commands"]?.map((entry) => ({
        code: entry["code"],
        title: entry["command"],
        name: entry["registry_name"],
        operation: entry["request_header_operation"],
      })),
    );
  });

  it("finds a command by its code and by its own operation", () => {
    for (const command of commands) {
      expect(commandByCode(command.code)).toBe(command);
      const shared = command.operation < 3;
      expect(commandByOperation(command.operation)).toBe(shared ? undefined : command);
    }
    expect(commandByCode(9999)).toBeUndefined();
  });

  it("keeps retired codes out of the table", () => {
    expect([...retiredCommands.keys()]).toEqual(requests["retired_codes"]);
    for (const code of retiredCommands.keys()) expect(commandByCode(code)).toBeUndefined();
  });

  it("has one reply that never comes", () => {
    expect(commands.filter(({ answered }) => !answered).map(({ code }) => code)).toEqual(
      responses["commands_without_a_reply"]?.map((entry) => entry["code"]),
    );
  });
});

describe("golden requests", () => {
  for (const entry of requests["cases"] ?? []) {
    if (entry["hex"] === undefined) continue;
    const command = titled(entry["command"]);
    it(`${command.title} ${textOf(entry, "name")}`, () => {
      const hex = textOf(entry, "hex");
      const value = decodeRequest(command, bytesOf(hex));
      const got = plain(value) as JsonObject;
      if (command.title === "SendMessages") {
        const batch = textOf(got, "batch");
        expect(hex.endsWith(batch)).toBe(true);
        expect(batch.length / 2).toBe(hex.length / 2 - 4 - Number((entry["fields"] as JsonObject)["metadata_length"]));
        delete got["batch"];
      }
      expect(got).toEqual(requestFields(entry));
      expect(command.request.size(value)).toBe(hex.length / 2);
      expect(hexOf(encodeRequest(command, value))).toBe(hex);
    });
  }

  it("FetchMessages of a thousand targets", () => {
    const entry = requests["cases"]?.find(({ name }) => name === "thousand_targets_by_rule") ?? {};
    const minimal = requests["cases"]?.find(({ command, name }) => command === "FetchMessages" && name === "minimal");
    const request = decodeRequest(fetchMessages, bytesOf(textOf(minimal ?? {}, "hex")));
    const targets = Array.from({ length: 1000 }, (_, i) => ({
      partitionId: 999 - i,
      strategy: { kind: "offset" as const, value: BigInt(i) },
      maxBytes: request.maxBytes,
      incarnation: BigInt(i + 1),
      ownerGeneration: 0n,
    }));
    const thousand = { ...request, count: 1000, targets };
    const bytes = encodeRequest(fetchMessages, thousand);
    expect(bytes.length).toBe(entry["size"]);
    expect(decodeRequest(fetchMessages, bytes)).toEqual(thousand);
    expect(fetchReplyLimit(thousand)).toBe(entry["reply_limit_bytes"]);
  });

  // Both bodies end too early for what they claim; the official decoder looks at the length as a whole first.
  const endsEarly = new Set(["plain_poll_body", "permissions_length_mismatch"]);

  for (const entry of requests["negative"] ?? []) {
    const command = titled(entry["type"]);
    it(`refuses ${command.title} ${textOf(entry, "name")}`, () => {
      const { kind } = entry["error"] as { kind: string };
      const expected = endsEarly.has(textOf(entry, "name")) ? "UnexpectedEof" : kind;
      expectRefused(() => decodeRequest(command, bytesOf(textOf(entry, "hex"))), expected);
    });
  }
});

/** Replies whose records are batches: the vectors leave their fields to the message files. */
const withRecords = new Set(["PollMessages", "FetchMessages"]);

describe("golden replies", () => {
  for (const entry of responses["cases"] ?? []) {
    for (const { code } of entry["commands"] as unknown as { code: number }[]) {
      const command = commandByCode(code) as AnyCommand;
      it(`${command.title} ${textOf(entry, "response")} ${textOf(entry, "name")}`, () => {
        const hex = textOf(entry, "hex");
        const value = decodeResponse(command, bytesOf(hex));
        if (withRecords.has(textOf(entry, "response"))) expect(value).toHaveProperty("records");
        else expect(plain(value)).toEqual(fieldsOf(entry["fields"] ?? null));
        expect(hexOf(encodeResponse(command, value))).toBe(hex);
      });
    }
  }

  for (const entry of responses["negative"] ?? []) {
    const command = byResponse(textOf(entry, "type"));
    it(`refuses ${textOf(entry, "type")} ${textOf(entry, "name")}`, () => {
      const { kind } = entry["error"] as { kind: string };
      expectRefused(() => decodeResponse(command, bytesOf(textOf(entry, "hex"))), kind);
    });
  }
});

function byResponse(response: string): AnyCommand {
  const found = responses["cases"]?.find((entry) => entry["response"] === response);
  const [first] = found?.["commands"] as unknown as { code: number }[];
  return commandByCode(first?.code ?? 0) as AnyCommand;
}
