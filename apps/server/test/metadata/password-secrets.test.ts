import { expect, it } from "vitest";
import { passwordSecrets } from "../../src/metadata/password-secrets.js";

it("hashes with Argon2id at the documented cost, salted, and verifies", async () => {
  const secrets = await passwordSecrets();
  const [first, second] = await Promise.all([
    secrets.hashPassword("correct horse"),
    secrets.hashPassword("correct horse"),
  ]);
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(first).not.toBe(second);
  expect(await secrets.verifyPassword("correct horse", first)).toBe(true);
  expect(await secrets.verifyPassword("wrong horse", first)).toBe(false);
});

it("an unknown user costs a comparison and never matches", async () => {
  const secrets = await passwordSecrets();
  const started = performance.now();
  expect(await secrets.verifyPassword("anything", undefined)).toBe(false);
  // Argon2 at this cost can't be done in a millisecond on any machine.
  expect(performance.now() - started).toBeGreaterThan(1);
});
