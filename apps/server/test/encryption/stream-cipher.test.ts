import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { portableCipher, TAG_SIZE } from "../../src/encryption/index.js";

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
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const nonce = fc.uint8Array({ minLength: 12, maxLength: 12 });
const text = fc.uint8Array({ maxLength: 100 });

describe.each([["portable", portableCipher]])("the %s cipher", (_name, makeCipher) => {
  const sealed = (by: Uint8Array, nonceBytes: Uint8Array, plaintext: Uint8Array): Uint8Array => {
    const target = new Uint8Array(plaintext.length + TAG_SIZE);
    makeCipher(by).seal(nonceBytes, plaintext, target);
    return target;
  };

  it.each(vectors)("gives what the official server gives: $name", ({ key_hex, plain_hex, sealed_hex }) => {
    const golden = bytesOf(sealed_hex);
    const [nonceBytes, rest] = [golden.subarray(0, 12), golden.subarray(12)];
    expect(sealed(bytesOf(key_hex), nonceBytes, bytesOf(plain_hex))).toEqual(rest);
    const target = new Uint8Array(rest.length - TAG_SIZE);
    expect(makeCipher(bytesOf(key_hex)).open(nonceBytes, rest, target)).toBe(true);
    expect(target).toEqual(bytesOf(plain_hex));
  });

  it("gives the known ciphertext of hello", () => {
    const byNumbers = Uint8Array.from({ length: 32 }, (_, at) => at);
    const hello = sealed(byNumbers, new Uint8Array(12), Buffer.from("hello"));
    expect(Buffer.from(hello).toString("hex")).toBe("57a7222e979210527458620d4cb2bda9f40d5897e7");
  });

  it("opens what it sealed, from any place in memory", () => {
    fc.assert(
      fc.property(key, nonce, text, fc.nat(9), (by, nonceBytes, plaintext, shift) => {
        const shifted = new Uint8Array(shift + plaintext.length + TAG_SIZE).subarray(shift);
        makeCipher(by).seal(nonceBytes, plaintext, shifted);
        const target = new Uint8Array(shift + plaintext.length).subarray(shift);
        expect(makeCipher(by).open(nonceBytes, shifted, target)).toBe(true);
        expect(target).toEqual(plaintext);
      }),
      { numRuns: 50 },
    );
  });

  it("opens nothing with another key or nonce, nor with a byte changed", () => {
    fc.assert(
      fc.property(key, nonce, text, fc.nat(), (by, nonceBytes, plaintext, at) => {
        const bytes = sealed(by, nonceBytes, plaintext);
        const opens = (one: Uint8Array, two: Uint8Array, three: Uint8Array): boolean =>
          makeCipher(one).open(two, three, new Uint8Array(plaintext.length));
        const changed = (source: Uint8Array): Uint8Array =>
          source.map((byte, index) => (index === at % source.length ? byte ^ 0x40 : byte));
        expect(opens(changed(by), nonceBytes, bytes)).toBe(false);
        expect(opens(by, changed(nonceBytes), bytes)).toBe(false);
        expect(opens(by, nonceBytes, changed(bytes))).toBe(false);
        expect(opens(by, nonceBytes, bytes.subarray(1))).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  it("keeps a key of its own", () => {
    const by = new Uint8Array(32).fill(7);
    const cipher = makeCipher(by);
    by.fill(0);
    const target = new Uint8Array(TAG_SIZE);
    cipher.seal(new Uint8Array(12), new Uint8Array(0), target);
    expect(target).toEqual(sealed(new Uint8Array(32).fill(7), new Uint8Array(12), new Uint8Array(0)));
  });
});
