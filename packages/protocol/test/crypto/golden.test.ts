import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  deriveKeyEncryptionKey,
  type KeyEncryptionKey,
  type KeyOriginCode,
  MessageCipher,
  openWrapSet,
  parseEncryptionKey,
  parseKeyRing,
  parseWrapSet,
  SEAL_OVERHEAD,
  streamKeyFingerprint,
  wrapStreamKey,
} from "../../src/crypto/index.js";
import { IggyError } from "../../src/errors/index.js";
import { encodeBase64 } from "../../src/text/index.js";
import { fromHex, loadVectors, toHex } from "../golden.js";

interface WrapSet {
  readonly name: string;
  readonly current_key_base64: string;
  readonly previous_keys_base64: readonly string[];
  readonly origin: KeyOriginCode;
  readonly stream_key_hex: string;
  readonly key_fingerprint: string;
  readonly kek_fingerprints_in_stored_order: readonly string[];
  readonly wrap_set_hex: string;
}
interface CryptoVectors {
  readonly kek_fingerprints: readonly { readonly config_key_base64: string; readonly kek_fingerprint: string }[];
  readonly stream_key_fingerprints: readonly { readonly key_hex: string; readonly fingerprint: string }[];
  readonly wrap_sets: readonly WrapSet[];
  readonly sealed_payloads: readonly {
    readonly algorithm: string;
    readonly name: string;
    readonly key_hex: string;
    readonly plain_hex: string;
    readonly sealed_hex: string;
  }[];
  readonly negative: readonly {
    readonly name: string;
    readonly key_base64: string;
    readonly previous_keys_base64: readonly string[];
    readonly enabled: boolean;
    readonly error: { readonly code: number };
  }[];
}
const vectors: CryptoVectors = loadVectors("crypto");

const random = (bytes: Uint8Array): void => {
  crypto.getRandomValues(bytes);
};
const zeros = (bytes: Uint8Array): void => {
  bytes.fill(0);
};
const code = (expected: number): Error => expect.objectContaining({ code: expected }) as Error;
const keysOf = (set: WrapSet): Promise<KeyEncryptionKey[]> =>
  Promise.all(
    [set.current_key_base64, ...set.previous_keys_base64].map((key) => deriveKeyEncryptionKey(parseEncryptionKey(key))),
  );

describe("message encryption", () => {
  const payloads = vectors.sealed_payloads.filter(({ algorithm }) => algorithm === "aes_256_gcm");

  it.each(payloads)("opens the golden payload $name", async ({ key_hex, plain_hex, sealed_hex }) => {
    const cipher = await MessageCipher.create(fromHex(key_hex), random);
    expect(toHex(await cipher.decrypt(fromHex(sealed_hex)))).toBe(plain_hex);
    // The nonce is random: with the golden one, the whole is golden.
    const golden = await MessageCipher.create(fromHex(key_hex), (nonce) => {
      nonce.set(fromHex(sealed_hex).subarray(0, 12));
    });
    expect(toHex(await golden.encrypt(fromHex(plain_hex)))).toBe(sealed_hex);
  });

  it("gives the known ciphertext for a nonce of zeros", async () => {
    const cipher = await MessageCipher.create(new Uint8Array(32).fill(1), zeros);
    expect(toHex(await cipher.encrypt(new TextEncoder().encode("hello")))).toBe(
      "000000000000000000000000d750f4b01ad351ab21bdff24b8dae64e9272dd9b18",
    );
  });

  it("encrypts payload and user headers apart and adds nothing to a message without headers", async () => {
    const cipher = await MessageCipher.create(encodeBase64(new Uint8Array(32).fill(9)), random);
    const message = { id: 7n, originTimestamp: 5, payload: Uint8Array.of(1, 2), userHeaders: Uint8Array.of(3) };
    const sealed = await cipher.encryptMessage(message);
    expect([sealed.payload.length, sealed.userHeaders.length]).toEqual([2 + SEAL_OVERHEAD, 1 + SEAL_OVERHEAD]);
    expect(toHex(sealed.payload.subarray(0, 12))).not.toBe(toHex(sealed.userHeaders.subarray(0, 12)));
    expect([sealed.id, sealed.originTimestamp]).toEqual([7n, 5]);
    expect(await cipher.decryptMessage(sealed)).toEqual(message);
    const bare = await cipher.encryptMessage({ payload: Uint8Array.of(1), userHeaders: new Uint8Array(0) });
    expect(bare.userHeaders).toHaveLength(0);
    expect(await cipher.encryptMessage({ payload: Uint8Array.of(1) })).not.toHaveProperty("userHeaders");
  });

  it("reads what lies in shared memory", async () => {
    const cipher = await MessageCipher.create(new Uint8Array(32), random);
    const shared = new Uint8Array(new SharedArrayBuffer(100), 3, 50).fill(8);
    const sealed = new Uint8Array(new SharedArrayBuffer(78));
    sealed.set(await cipher.encrypt(shared));
    expect([...(await cipher.decrypt(sealed))]).toEqual([...shared]);
  });

  it("refuses a short, damaged or foreign ciphertext with CannotDecryptData", async () => {
    const cipher = await MessageCipher.create(new Uint8Array(32).fill(1), random);
    const other = await MessageCipher.create(new Uint8Array(32).fill(2), random);
    const sealed = await cipher.encrypt(Uint8Array.of(1, 2, 3));
    await expect(other.decrypt(sealed)).rejects.toThrow(code(72));
    await expect(cipher.decrypt(sealed.subarray(0, 27))).rejects.toThrow(code(72));
    for (let at = 0; at < sealed.length; at++) {
      const damaged = sealed.slice();
      damaged[at]! ^= 1;
      await expect(cipher.decrypt(damaged)).rejects.toThrow(code(72));
    }
  });

  it("tells a failure to encrypt, and keys of another form, by their codes", async () => {
    const cipher = await MessageCipher.create(new Uint8Array(32), zeros);
    const failing = vi.spyOn(crypto.subtle, "encrypt").mockRejectedValueOnce(new Error("out of memory"));
    await expect(cipher.encrypt(Uint8Array.of(1))).rejects.toThrow(code(71));
    failing.mockRestore();
    await expect(MessageCipher.create(new Uint8Array(31), random)).rejects.toThrow(code(70));
    await expect(MessageCipher.create("AQID", random)).rejects.toThrow(code(70));
    await expect(MessageCipher.create("not base64", random)).rejects.toThrow(code(70));
  });

  it("gives back any bytes", async () => {
    const cipher = await MessageCipher.create(new Uint8Array(32).fill(3), random);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect(await cipher.decrypt(await cipher.encrypt(bytes))).toEqual(bytes);
      }),
      { numRuns: 50 },
    );
  });
});

describe("stream keys", () => {
  it.each(vectors.kek_fingerprints)("$config_key_base64 has its fingerprint", async (vector) => {
    const kek = await deriveKeyEncryptionKey(parseEncryptionKey(vector.config_key_base64));
    expect(toHex(kek.fingerprint)).toBe(vector.kek_fingerprint);
  });

  it.each(vectors.stream_key_fingerprints)("$key_hex has its fingerprint", async ({ key_hex, fingerprint }) => {
    expect(toHex(await streamKeyFingerprint(fromHex(key_hex)))).toBe(fingerprint);
  });

  it.each(vectors.wrap_sets)("the golden wrap set $name opens with each of its keys", async (vector) => {
    const set = fromHex(vector.wrap_set_hex);
    const keys = await keysOf(vector);
    for (const kek of keys) expect(toHex(await openWrapSet(set, [kek]))).toBe(vector.stream_key_hex);
    const envelopes = parseWrapSet(set);
    expect(envelopes.map(({ kekFingerprint }) => toHex(kekFingerprint))).toEqual(
      vector.kek_fingerprints_in_stored_order,
    );
    expect(envelopes.every(({ origin }) => origin === vector.origin)).toBe(true);
    expect(toHex(envelopes[0]!.keyFingerprint)).toBe(vector.key_fingerprint);
  });

  it.each(vectors.wrap_sets)("the golden wrap set $name is written again from its nonces", async (vector) => {
    const nonces = parseWrapSet(fromHex(vector.wrap_set_hex)).map(({ bytes }) => bytes.slice(10, 22));
    const set = await wrapStreamKey(fromHex(vector.stream_key_hex), vector.origin, await keysOf(vector), (nonce) => {
      nonce.set(nonces.shift()!);
    });
    expect(toHex(set)).toBe(vector.wrap_set_hex);
  });

  it("wraps to the known envelope for a nonce of zeros", async () => {
    const kek = await deriveKeyEncryptionKey(parseEncryptionKey("/rvT1xP4V8u1EAhk4xDdqzqM2UOPXyy9XYkl4uRShgE="));
    const streamKey = Uint8Array.from({ length: 32 }, (_, i) => i);
    expect(toHex(await wrapStreamKey(streamKey, 1, [kek], zeros))).toBe(
      "010139e4f0f95c3693c7000000000000000000000000" +
        "38ebb155ffff9b28425bb3d32e0d928d652b887ebc66d513e531fb3808f8065634bcdb75486aeb7314609ec60ac0447c" +
        "8441e38538cbfa57",
    );
  });

  it("are not opened by a foreign key, nor when a byte of an envelope changed", async () => {
    const vector = vectors.wrap_sets[0]!;
    const keys = await keysOf(vector);
    const foreign = await deriveKeyEncryptionKey(new Uint8Array(32).fill(77));
    await expect(openWrapSet(fromHex(vector.wrap_set_hex), [foreign])).rejects.toThrow(code(72));
    for (let at = 0; at < 78; at++) {
      const damaged = fromHex(vector.wrap_set_hex);
      damaged[at]! ^= 0x40;
      await expect(openWrapSet(damaged, keys)).rejects.toThrow(code(at < 2 ? 4107 : 72));
    }
  });

  it("refuse a wrap set that is not one set of one key in order", () => {
    const three = fromHex(vectors.wrap_sets.find(({ name }) => name === "three_keks")!.wrap_set_hex);
    const envelopes = [0, 1, 2].map((i) => three.subarray(i * 78, (i + 1) * 78));
    const set = (...pieces: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(pieces));
    const otherOrigin = envelopes[1]!.slice();
    otherOrigin[1] = 2;
    const otherKey = envelopes[1]!.slice();
    otherKey[77]! ^= 1;
    for (const bytes of [
      new Uint8Array(0),
      three.subarray(0, 77),
      set(three, envelopes[0]!),
      set(envelopes[1]!, envelopes[0]!),
      set(envelopes[0]!, envelopes[0]!),
      set(envelopes[0]!, otherOrigin),
      set(envelopes[0]!, otherKey),
    ]) {
      expect(() => parseWrapSet(bytes)).toThrow(code(4107));
    }
  });

  it("are wrapped under one to three keys", async () => {
    const keys = await keysOf(vectors.wrap_sets.find(({ name }) => name === "three_keks")!);
    await expect(wrapStreamKey(new Uint8Array(32), 1, [], random)).rejects.toThrow(IggyError);
    await expect(wrapStreamKey(new Uint8Array(32), 1, [...keys, keys[0]!], random)).rejects.toThrow(IggyError);
    await expect(wrapStreamKey(new Uint8Array(31), 1, keys, random)).rejects.toThrow(code(70));
  });
});

describe("encryption settings", () => {
  it.each(vectors.negative)("$name is refused", ({ key_base64, previous_keys_base64, enabled, error }) => {
    expect(() => parseKeyRing({ enabled, key: key_base64, previousKeys: previous_keys_base64 })).toThrow(
      code(error.code),
    );
  });

  it("give the current key, then the previous ones", () => {
    const [first, second] = [1, 2].map((byte) => new Uint8Array(32).fill(byte));
    const settings = { enabled: false, key: encodeBase64(first!), previousKeys: [encodeBase64(second!)] };
    expect(parseKeyRing(settings)).toEqual([first, second]);
    expect(parseKeyRing({ enabled: false, key: "", previousKeys: [] })).toEqual([]);
  });

  it("never show a key in an error", () => {
    const secret = "c2VjcmV0LWtleQ==";
    expect(() => parseEncryptionKey(secret)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining(secret) as string }) as Error,
    );
  });
});
