import { ErrorCode, IggyError } from "../errors/index.js";

/** What this package uses of WebCrypto, so that it needs no type library of a browser or of Node. */
interface Subtle {
  importKey(format: "raw", key: Uint8Array, algorithm: string, extractable: false, usages: string[]): Promise<object>;
  encrypt(algorithm: AesGcm, key: object, data: Uint8Array): Promise<ArrayBuffer>;
  decrypt(algorithm: AesGcm, key: object, data: Uint8Array): Promise<ArrayBuffer>;
  deriveBits(algorithm: Hkdf, key: object, bits: number): Promise<ArrayBuffer>;
  digest(algorithm: "SHA-256", data: Uint8Array): Promise<ArrayBuffer>;
}
interface AesGcm {
  readonly name: "AES-GCM";
  readonly iv: Uint8Array;
  readonly additionalData?: Uint8Array;
}
interface Hkdf {
  readonly name: "HKDF";
  readonly hash: "SHA-256";
  readonly salt: Uint8Array;
  readonly info: Uint8Array;
}
declare const crypto: { readonly subtle?: Subtle } | undefined;

/** Fills bytes with values that can't be foretold and do not come twice; `crypto.getRandomValues` does. */
export type RandomSource = (bytes: Uint8Array) => void;

/** Browsers offer it on secure origins only. */
function subtle(): Subtle {
  const found = typeof crypto === "undefined" ? undefined : crypto.subtle;
  if (found === undefined) {
    throw new IggyError(
      ErrorCode.FeatureUnavailable,
      "this runtime offers no WebCrypto: a browser needs a secure origin (https or localhost)",
    );
  }
  return found;
}

/** WebCrypto refuses views on shared memory, so those are copied. */
const own = (bytes: Uint8Array): Uint8Array => {
  if (bytes.buffer instanceof ArrayBuffer) return bytes;
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  return copy;
};

export const NONCE_SIZE = 12;
export const TAG_SIZE = 16;

/** An AES-256-GCM key that can't be read back. */
export interface AesKey {
  /** `nonce ++ ciphertext ++ tag`, 28 bytes longer than the plaintext. */
  seal(plaintext: Uint8Array, nonce: Uint8Array, additionalData?: Uint8Array): Promise<Uint8Array>;
  /** The plaintext, or undefined when the bytes are not what this key sealed. */
  open(sealed: Uint8Array, additionalData?: Uint8Array): Promise<Uint8Array | undefined>;
}

export async function importAesKey(key: Uint8Array): Promise<AesKey> {
  const web = subtle();
  const handle = await web.importKey("raw", own(key), "AES-GCM", false, ["encrypt", "decrypt"]);
  const parameters = (iv: Uint8Array, additionalData: Uint8Array | undefined): AesGcm => ({
    name: "AES-GCM",
    iv: own(iv),
    ...(additionalData === undefined ? {} : { additionalData: own(additionalData) }),
  });
  return {
    seal: async (plaintext, nonce, additionalData) => {
      const ciphertext = new Uint8Array(await web.encrypt(parameters(nonce, additionalData), handle, own(plaintext)));
      const sealed = new Uint8Array(NONCE_SIZE + ciphertext.length);
      sealed.set(nonce);
      sealed.set(ciphertext, NONCE_SIZE);
      return sealed;
    },
    open: async (sealed, additionalData) => {
      if (sealed.length < NONCE_SIZE + TAG_SIZE) return undefined;
      const iv = sealed.subarray(0, NONCE_SIZE);
      try {
        return new Uint8Array(
          await web.decrypt(parameters(iv, additionalData), handle, own(sealed.subarray(NONCE_SIZE))),
        );
      } catch {
        // A wrong tag is the only reason that WebCrypto gives, and it gives no other detail.
        return undefined;
      }
    },
  };
}

export async function hkdfSha256(key: Uint8Array, info: Uint8Array, length: number): Promise<Uint8Array> {
  const web = subtle();
  const handle = await web.importKey("raw", own(key), "HKDF", false, ["deriveBits"]);
  const salt = new Uint8Array(0);
  return new Uint8Array(await web.deriveBits({ name: "HKDF", hash: "SHA-256", salt, info }, handle, 8 * length));
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await subtle().digest("SHA-256", own(bytes)));
}
