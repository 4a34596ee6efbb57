import { readFileSync } from "node:fs";
import { encodeBatch, MessageCursor, verifyBatch } from "@iggy/protocol";
import { describe, expect, it } from "vitest";
import { nativeCipher, portableCipher } from "../../src/encryption/index.js";

interface Vector {
  readonly algorithm: string;
  readonly name: string;
  readonly key_hex: string;
  readonly plain_hex: string;
  readonly sealed_hex: string;
}
const file = new URL("../../../../packages/protocol/test/vectors/crypto.json", import.meta.url);
const { sealed_payloads } = JSON.parse(readFileSync(file, "utf8")) as { readonly sealed_payloads: readonly Vector[] };
const vectors = sealed_payloads.filter(({ algorithm }) => algorithm === "aes_256_gcm_siv");

const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
const batchOf = (...payloads: readonly Uint8Array[]): Uint8Array =>
  encodeBatch(payloads.map((payload) => ({ payload, originTimestamp: 1_772_000_000_000_000 })));
const payloadsOf = (batch: Uint8Array | undefined): string[] => {
  if (batch === undefined) return expect.fail("no batch");
  expect(verifyBatch(batch)).toBe(batch.length);
  const cursor = new MessageCursor().records(batch);
  const payloads: string[] = [];
  while (cursor.next()) payloads.push(Buffer.from(cursor.payload).toString("hex"));
  return payloads;
};

describe.each([["portable", portableCipher]])("the %s cipher", (_name, makeCipher) => {
  it.each(vectors)("opens what the official server sealed: $name", ({ key_hex, plain_hex, sealed_hex }) => {
    const opened = makeCipher(bytesOf(key_hex)).open(batchOf(bytesOf(sealed_hex)));
    expect(payloadsOf(opened)).toEqual([plain_hex]);
  });

  it("opens the known ciphertext of hello", () => {
    const key = Uint8Array.from({ length: 32 }, (_, at) => at);
    const sealed = `${"00".repeat(12)}57a7222e979210527458620d4cb2bda9f40d5897e7`;
    expect(payloadsOf(makeCipher(key).open(batchOf(bytesOf(sealed))))).toEqual([Buffer.from("hello").toString("hex")]);
  });

  it("opens what it sealed, and nothing with another key", () => {
    const [one, two] = [1, 2].map((byte) => makeCipher(new Uint8Array(32).fill(byte)));
    const batch = batchOf(Uint8Array.of(1, 2, 3), new Uint8Array(0), new Uint8Array(1000).fill(7));
    const sealed = one?.seal(batch);
    if (sealed === undefined) return expect.fail("sealed");
    expect(verifyBatch(sealed)).toBe(batch.length + 3 * 28);
    expect(one?.open(sealed)).toEqual(Buffer.from(batch));
    expect(two?.open(sealed)).toBeUndefined();
  });

  it("takes no nonce twice", () => {
    const cipher = makeCipher(new Uint8Array(32).fill(3));
    const batch = batchOf(...Array.from({ length: 700 }, () => new Uint8Array(0)));
    const nonces = [1, 2, 3].flatMap(() => payloadsOf(cipher.seal(batch)).map((hex) => hex.slice(0, 24)));
    expect(nonces).toHaveLength(2100);
    expect(new Set(nonces).size).toBe(2100);
  });

  it("keeps a key of its own", () => {
    const key = new Uint8Array(32).fill(7);
    const cipher = makeCipher(key);
    key.fill(0);
    const sealed = cipher.seal(batchOf(Uint8Array.of(5)));
    if (sealed === undefined) return expect.fail("sealed");
    expect(payloadsOf(makeCipher(new Uint8Array(32).fill(7)).open(sealed))).toEqual(["05"]);
  });
});

it("native code gets random bytes and memory from the server", () => {
  const seen: string[] = [];
  const cipher = nativeCipher((key) => ({
    seal: (batch, fillRandom, allocate) => {
      const random = new Uint8Array(12);
      fillRandom(random);
      seen.push(`seal ${key.length} ${random.some((byte) => byte !== 0)}`);
      return allocate(batch.length + 28);
    },
    open: (batch, allocate) => allocate(batch.length - 28),
  }))(new Uint8Array(32));
  expect(cipher.seal(new Uint8Array(300))).toHaveLength(328);
  expect(cipher.open(new Uint8Array(328))).toHaveLength(300);
  expect(seen).toEqual(["seal 32 true"]);
});
