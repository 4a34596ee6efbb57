import { gcmsiv } from "@noble/ciphers/aes.js";
import fc from "fast-check";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { decryptParts, type Encryptor, encryptParts } from "../src/encryption/index.js";
import { Aes256GcmEncryptor, Aes256GcmSivEncryptor } from "../src/index.js";
import { hexOf } from "./support/captures.js";

const encryptors = { Aes256GcmEncryptor, Aes256GcmSivEncryptor } as const;
const names = ["Aes256GcmEncryptor", "Aes256GcmSivEncryptor"] as const;
const key = new Uint8Array(32).fill(1);
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));

test.each(names)("%s gives back what went in, 28 bytes longer in between", async (name) => {
  const encryptor = new encryptors[name](key);
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (data) => {
      const sealed = await encryptor.encrypt(data);
      expect(sealed.length).toBe(data.length + 28);
      expect(await encryptor.decrypt(sealed)).toEqual(data);
    }),
    { numRuns: 50 },
  );
});

test.each(names)("%s refuses every changed bit, a short text and another key", async (name) => {
  const encryptor: Encryptor = new encryptors[name](key);
  const sealed = await encryptor.encrypt(new TextEncoder().encode("hello"));
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = new Uint8Array(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await expect((async () => encryptor.decrypt(changed))(), String(bit)).rejects.toMatchObject({ code: 72 });
  }
  await expect((async () => encryptor.decrypt(sealed.subarray(0, 27)))()).rejects.toMatchObject({ code: 72 });
  const other: Encryptor = new encryptors[name](new Uint8Array(32).fill(2));
  await expect((async () => other.decrypt(sealed))()).rejects.toMatchObject({ code: 72 });
});

test.each(names)("%s takes keys of 32 bytes, or their base64, and shows none", (name) => {
  const Encryptor = encryptors[name];
  expect(() => new Encryptor(Buffer.from(key).toString("base64"))).not.toThrow();
  const secret = "this is no key but a secret";
  for (const wrong of [new Uint8Array(31), new Uint8Array(0), "", secret, Buffer.alloc(33).toString("base64")]) {
    let error: unknown;
    try {
      new Encryptor(wrong);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 70, name: "ValidationError" });
    expect(inspect(error, { depth: 9 })).not.toContain("secret");
  }
  expect(() => new Encryptor(7 as unknown as string)).toThrow(expect.objectContaining({ code: 70 }));
  const own = new Uint8Array(32).fill(0xa7);
  expect(inspect(new Encryptor(own), { depth: 9, showHidden: true })).not.toMatch(/167|a7a7/);
});

test("a key that is wiped after use still encrypts", async () => {
  const wiped = new Uint8Array(key);
  const encryptors: Encryptor[] = [new Aes256GcmEncryptor(wiped), new Aes256GcmSivEncryptor(wiped)];
  wiped.fill(0);
  for (const encryptor of encryptors) {
    const sealed = await encryptor.encrypt(Uint8Array.of(5));
    expect(
      await (encryptor.constructor === Aes256GcmEncryptor
        ? new Aes256GcmEncryptor(key).decrypt(sealed)
        : new Aes256GcmSivEncryptor(key).decrypt(sealed)),
    ).toEqual(Uint8Array.of(5));
  }
});

test("the framing of AES-GCM is the one that every client reads", async () => {
  const sealed = bytesOf("000000000000000000000000d750f4b01ad351ab21bdff24b8dae64e9272dd9b18");
  expect(new TextDecoder().decode(await new Aes256GcmEncryptor(key).decrypt(sealed))).toBe("hello");
});

test.each([
  // RFC 8452, appendix C.2.
  ["", "07f5f4169bbf55a8400cd47ea6fd400f"],
  ["0100000000000000", "c2ef328e5c71c83b843122130f7364b761e0b97427e3df28"],
])("AES-GCM-SIV reads the example of its specification: %s", (plaintext, sealed) => {
  const encryptor = new Aes256GcmSivEncryptor(bytesOf("01".padEnd(64, "0")));
  const opened = encryptor.decrypt(bytesOf(`${"03".padEnd(24, "0")}${sealed}`));
  expect(hexOf(opened)).toBe(plaintext);
});

test("AES-GCM-SIV agrees with another implementation", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.uint8Array({ maxLength: 200 }),
      (anyKey, plaintext) => {
        const sealed = new Aes256GcmSivEncryptor(anyKey).encrypt(plaintext);
        const nonce = sealed.subarray(0, 12);
        expect(gcmsiv(anyKey, nonce).decrypt(sealed.subarray(12))).toEqual(plaintext);
      },
    ),
  );
});

test("payload and headers are encrypted apart; missing headers stay missing", async () => {
  const encryptor = new Aes256GcmEncryptor(key);
  const payload = Uint8Array.of(1, 2);
  const both = await encryptParts(encryptor, { payload, userHeaders: Uint8Array.of(3) });
  expect([both.payload.length, both.userHeaders?.length]).toEqual([30, 29]);
  expect(await decryptParts(encryptor, both)).toEqual({ payload, userHeaders: Uint8Array.of(3) });
  expect((await encryptParts(encryptor, { payload })).userHeaders).toBeUndefined();
  expect((await encryptParts(encryptor, { payload, userHeaders: new Uint8Array(0) })).userHeaders).toBeUndefined();
});

test("whatever an encryptor of the application throws has the code of its step", async () => {
  const broken: Encryptor = {
    encrypt: () => {
      throw new Error("no key yet");
    },
    decrypt: () => Promise.reject(new Error("no key yet")),
  };
  const parts = { payload: Uint8Array.of(1) };
  await expect(encryptParts(broken, parts)).rejects.toMatchObject({ code: 71, cause: { message: "no key yet" } });
  await expect(decryptParts(broken, parts)).rejects.toMatchObject({ code: 72, cause: { message: "no key yet" } });
});
