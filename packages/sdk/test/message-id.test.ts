import { expect, it } from "vitest";
import hashes from "../../protocol/test/vectors/hashes.json" with { type: "json" };
import { messageIdText, toMessageId } from "../src/values/message-id.js";

it.each(hashes.uuid_ids)("UUID $uuid is the number whose bytes lie on the wire in its order", ({ uuid, u128 }) => {
  expect(toMessageId(uuid)).toBe(BigInt(u128));
  expect(messageIdText(BigInt(u128))).toBe(uuid);
});
