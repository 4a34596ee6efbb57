import { MessageCipher } from "@iggy/protocol";
import type { Encryptor } from "./encryptor.js";
import { keyBytes } from "./key.js";
import { randomFill } from "./random-fill.js";

/**
 * AES-256-GCM by the cryptography of the platform, in Node.js and browsers. What it makes is a random nonce of 12 bytes,
 * the ciphertext, and a tag of 16 bytes: 28 bytes more than went in. One key is good for about 2^32 messages, since
 * nonces are random.
 */
export class Aes256GcmEncryptor implements Encryptor {
  readonly #cipher: Promise<MessageCipher>;

  /** 32 bytes, or their base64; `InvalidEncryptionKey` (70) for anything else. */
  constructor(key: Uint8Array | string) {
    this.#cipher = MessageCipher.create(keyBytes(key), randomFill);
    // A platform without cryptography is reported by the first use.
    this.#cipher.catch(() => undefined);
  }

  async encrypt(data: Uint8Array): Promise<Uint8Array> {
    return (await this.#cipher).encrypt(data);
  }

  async decrypt(data: Uint8Array): Promise<Uint8Array> {
    return (await this.#cipher).decrypt(data);
  }
}
