import * as argon2 from "@node-rs/argon2";
import { expect, it, vi } from "vitest";
import { passwordSecrets } from "../../src/metadata/password-secrets.js";

/** Hashes under way, and the most at a time. */
const running = vi.hoisted(() => ({ now: 0, most: 0 }));

vi.mock(import("@node-rs/argon2"), async (original) => {
  const real = await original();
  const counted =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      running.most = Math.max(running.most, ++running.now);
      return work(...args).finally(() => running.now--);
    };
  return { ...real, hash: counted(real.hash), verify: counted(real.verify) };
});

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

it("hashes leave threads of the pool to the files, however many clients sign in", async () => {
  const secrets = await passwordSecrets();
  const stored = await argon2.hash("correct horse", { memoryCost: 64, timeCost: 1 });
  running.most = 0;
  const verified = await Promise.all(Array.from({ length: 20 }, () => secrets.verifyPassword("correct horse", stored)));
  await Promise.all(Array.from({ length: 5 }, () => secrets.hashPassword("correct horse")));
  expect(verified).toEqual(Array(20).fill(true));
  expect(running.most).toBe(2);
});

it("agrees with the reference implementation", async () => {
  // argon2 -id -t 2 -m 16 -p 1 -l 32 of the reference command line tool: password "password", salt "somesalt".
  const known = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
  const secrets = await passwordSecrets();
  expect(await secrets.verifyPassword("password", known)).toBe(true);
  expect(await secrets.verifyPassword("passwore", known)).toBe(false);
});
