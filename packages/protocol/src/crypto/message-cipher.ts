import { ErrorCode, IggyError } from "../errors/index.js";
import type { MessageInput } from "../messages/index.js";
import { checkKeySize, parseEncryptionKey } from "./encryption-key.js";
import { type AesKey, importAesKey, NONCE_SIZE, type RandomSource, TAG_SIZE } from "./web-crypto.js";

/** Bytes that encryption adds to a payload, and to user headers. */
export const SEAL_OVERHEAD = NONCE_SIZE + TAG_SIZE;

/** What encryption changes of a message. */
export type EncryptedParts = Pick<MessageInput, "payload" | "userHeaders">;

/**
 * Encrypts messages before they leave a client: AES-256-GCM of payload and of user headers, each under a nonce of its
 * own. Ids, timestamps and the partitioning key stay in clear. The key never leaves the client.
 */
export class MessageCipher {
  readonly #key: AesKey;
  readonly #random: RandomSource;

  private constructor(key: AesKey, random: RandomSource) {
    this.#key = key;
    this.#random = random;
  }

  /**
   * `key` is 32 bytes, or their canonical base64; else `InvalidEncryptionKey` (70). `random` fills nonces: a key must
   * never see one twice, so it must not be seeded outside tests.
   */
  static async create(key: Uint8Array | string, random: RandomSource): Promise<MessageCipher> {
    const bytes = typeof key === "string" ? parseEncryptionKey(key) : key;
    checkKeySize(bytes);
    return new MessageCipher(await importAesKey(bytes), random);
  }

  /** `nonce 12 ++ ciphertext ++ tag 16`. `CannotEncryptData` (71) when it fails. */
  async encrypt(plaintext: Uint8Array): Promise<Uint8Array> {
    const nonce = new Uint8Array(NONCE_SIZE);
    this.#random(nonce);
    try {
      return await this.#key.seal(plaintext, nonce);
    } catch (cause) {
      throw new IggyError(ErrorCode.CannotEncryptData, "encryption failed", { cause });
    }
  }

  /** `CannotDecryptData` (72) for bytes that this key did not encrypt. */
  async decrypt(sealed: Uint8Array): Promise<Uint8Array> {
    const plaintext = await this.#key.open(sealed);
    if (plaintext === undefined) {
      throw new IggyError(ErrorCode.CannotDecryptData, "decryption failed: wrong key or damaged data");
    }
    return plaintext;
  }

  /** The message with both parts encrypted; one without user headers stays without. */
  async encryptMessage<M extends EncryptedParts>(message: M): Promise<M> {
    return this.#both(message, (part) => this.encrypt(part));
  }

  /** The message with both parts decrypted. */
  async decryptMessage<M extends EncryptedParts>(message: M): Promise<M> {
    return this.#both(message, (part) => this.decrypt(part));
  }

  async #both<M extends EncryptedParts>(message: M, change: (part: Uint8Array) => Promise<Uint8Array>): Promise<M> {
    const { userHeaders } = message;
    const [payload, headers] = await Promise.all([
      change(message.payload),
      userHeaders === undefined || userHeaders.length === 0 ? userHeaders : change(userHeaders),
    ]);
    return { ...message, payload, ...(headers === undefined ? {} : { userHeaders: headers }) };
  }
}
