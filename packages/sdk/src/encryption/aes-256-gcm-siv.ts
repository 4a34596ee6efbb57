import { ErrorCode } from "@iggy/protocol";
import { errorOf } from "../errors/index.js";
import { AesBlockCipher, type Block, newBlock, readBlock, swapped, writeBlock } from "./aes-block.js";
import type { Encryptor } from "./encryptor.js";
import { keyBytes } from "./key.js";
import { Polyval } from "./polyval.js";
import { randomFill } from "./random-fill.js";

const nonceSize = 12;
const tagSize = 16;

/**
 * AES-256-GCM-SIV (RFC 8452): the same framing as `Aes256GcmEncryptor`, for keys that encrypt so much that random nonces
 * might repeat; a repeated nonce then shows only that two messages are equal. No platform offers it, so it is written in
 * JavaScript here: tens of MB/s, and not proof against somebody who measures caches on the same machine.
 */
export class Aes256GcmSivEncryptor implements Encryptor {
  readonly #cipher: AesBlockCipher;

  /** 32 bytes, or their base64; `InvalidEncryptionKey` (70) for anything else. */
  constructor(key: Uint8Array | string) {
    this.#cipher = new AesBlockCipher(keyBytes(key));
  }

  encrypt(data: Uint8Array): Uint8Array {
    const sealed = new Uint8Array(nonceSize + data.length + tagSize);
    const nonce = sealed.subarray(0, nonceSize);
    randomFill(nonce);
    const { authentication, encryption } = this.#derive(nonce);
    const tag = tagOf(authentication, encryption, nonce, data);
    const text = sealed.subarray(nonceSize, nonceSize + data.length);
    text.set(data);
    applyKeystream(encryption, tag, text);
    writeBlock(tag, sealed, nonceSize + data.length);
    return sealed;
  }

  /** `CannotDecryptData` (72) for bytes that this key did not encrypt. */
  decrypt(data: Uint8Array): Uint8Array {
    if (data.length < nonceSize + tagSize) throw undecryptable();
    const nonce = data.subarray(0, nonceSize);
    const { authentication, encryption } = this.#derive(nonce);
    const given = newBlock();
    readBlock(given, data, data.length - tagSize);
    const text = new Uint8Array(data.subarray(nonceSize, data.length - tagSize));
    applyKeystream(encryption, given, text);
    const tag = tagOf(authentication, encryption, nonce, text);
    // All of it is compared, so that the time tells nothing about where they differ.
    let difference = 0;
    for (let i = 0; i < 4; i++) difference |= (tag[i] ?? 0) ^ (given[i] ?? 0);
    if (difference !== 0) throw undecryptable();
    return text;
  }

  /** The keys of one message. */
  #derive(nonce: Uint8Array): { readonly authentication: Uint8Array; readonly encryption: AesBlockCipher } {
    const derived = new Uint8Array(6 * 8);
    const padded = new Uint8Array(16);
    padded.set(nonce, 4);
    const block = newBlock();
    const made = new Uint8Array(16);
    for (let counter = 0; counter < 6; counter++) {
      padded[0] = counter;
      readBlock(block, padded);
      this.#cipher.encrypt(block, block);
      writeBlock(block, made);
      derived.set(made.subarray(0, 8), 8 * counter);
    }
    return { authentication: derived.subarray(0, 16), encryption: new AesBlockCipher(derived.subarray(16)) };
  }
}

function tagOf(authentication: Uint8Array, encryption: AesBlockCipher, nonce: Uint8Array, text: Uint8Array): Block {
  const hash = new Polyval(authentication);
  hash.update(text);
  const lengths = new Uint8Array(16);
  new DataView(lengths.buffer).setBigUint64(8, BigInt(text.length) * 8n, true);
  hash.update(lengths);
  const sum = hash.digest();
  const bytes = new Uint8Array(16);
  bytes.set(nonce);
  const mask = newBlock();
  readBlock(mask, bytes);
  for (let i = 0; i < 3; i++) sum[i] = (sum[i] ?? 0) ^ (mask[i] ?? 0);
  sum[3] = (sum[3] ?? 0) & 0xffff_ff7f;
  encryption.encrypt(sum, sum);
  return sum;
}

/** Counts in the first four bytes, lowest byte first; the tag is where it starts. */
function applyKeystream(encryption: AesBlockCipher, tag: Block, text: Uint8Array): void {
  const counter = tag.slice();
  counter[3] = (counter[3] ?? 0) | 0x80;
  let count = swapped(counter[0] ?? 0);
  const key = newBlock();
  const bytes = new Uint8Array(16);
  for (let at = 0; at < text.length; at += 16) {
    counter[0] = swapped(count);
    encryption.encrypt(counter, key);
    writeBlock(key, bytes);
    const end = Math.min(16, text.length - at);
    for (let i = 0; i < end; i++) text[at + i] = (text[at + i] ?? 0) ^ (bytes[i] ?? 0);
    count = (count + 1) >>> 0;
  }
}

const undecryptable = (): Error => errorOf(ErrorCode.CannotDecryptData, "decryption failed: wrong key or damaged data");
