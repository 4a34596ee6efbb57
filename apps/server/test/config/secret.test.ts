import { inspect } from "node:util";
import { expect, it } from "vitest";
import { Secret } from "../../src/config/index.js";

it("a secret shows itself only when asked", () => {
  const secret = new Secret("hunter2");
  const shown = [
    String(secret),
    secret.toString(),
    JSON.stringify({ secret }),
    inspect({ nested: { secret } }, { depth: 5, showHidden: true }),
    Object.entries(secret).join(),
  ];
  for (const text of shown) expect(text).not.toContain("hunter2");
  expect(secret.reveal()).toBe("hunter2");
});

it("secrets compare by their text", () => {
  expect(new Secret("a").equals(new Secret("a"))).toBe(true);
  expect(new Secret("a").equals(new Secret("b"))).toBe(false);
  expect(new Secret("").isEmpty).toBe(true);
});
