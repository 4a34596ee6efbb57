import { expect, it } from "vitest";
import hashes from "../../../protocol/test/vectors/hashes.json" with { type: "json" };
import { tokenHash } from "../../src/index.js";

it.each(hashes.token_hashes)("the stored hash of token $token", ({ token, blake3_256_hex_of_token_text }) => {
  expect(tokenHash(token)).toBe(blake3_256_hex_of_token_text);
});
