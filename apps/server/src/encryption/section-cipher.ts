import { randomFillSync } from "node:crypto";
import { gcmsiv } from "@noble/ciphers/aes.js";
import { rewriteBatch, type RewriteSection, rewrittenBatchSize } from "@iggy/protocol";
import { type BatchCipher, type BatchCipherFactory, SECTION_OVERHEAD } from "./batch-cipher.js";

const NONCE_SIZE = 12;
/** A call for random bytes costs as much for many nonces as for one. */
const NONCES_AHEAD = 1024;

/** Seals payloads and user headers one by one. Outputs have the exact size and never overlap an input. */
export interface SectionCipher {
  /** Writes nonce, ciphertext and tag: 28 bytes more than the plaintext. */
  sealInto(nonce: Uint8Array, plaintext: Uint8Array, output: Uint8Array): void;
  /** Writes the plaintext of at least 28 bytes; false, with anything in the output, for what this key did not seal. */
  openInto(sealed: Uint8Array, output: Uint8Array): boolean;
}

/** Batches by way of their sections. */
export function sectionwise(cipher: SectionCipher): BatchCipher {
  const seal: RewriteSection = (plaintext, output) => {
    cipher.sealInto(nextNonce(), plaintext, output);
    return true;
  };
  const open: RewriteSection = (sealed, output) => cipher.openInto(sealed, output);
  return {
    seal: (batch) => rewritten(batch, SECTION_OVERHEAD, seal),
    open: (batch) => rewritten(batch, -SECTION_OVERHEAD, open),
  };
}

function rewritten(batch: Uint8Array, growth: number, section: RewriteSection): Uint8Array | undefined {
  const size = rewrittenBatchSize(batch, growth);
  if (size === undefined) return undefined;
  // Every byte of it is written.
  const target = Buffer.allocUnsafeSlow(size);
  return rewriteBatch(batch, target, growth, section) ? target : undefined;
}

const nonces = new Uint8Array(NONCE_SIZE * NONCES_AHEAD);
let nonceAt = nonces.length;

/** Random, and given once. */
function nextNonce(): Uint8Array {
  if (nonceAt === nonces.length) {
    randomFillSync(nonces);
    nonceAt = 0;
  }
  nonceAt += NONCE_SIZE;
  return nonces.subarray(nonceAt - NONCE_SIZE, nonceAt);
}

/**
 * In JavaScript, for machines without the native code: correct, and some hundred times slower. Nothing in Node.js 20
 * offers this algorithm.
 */
export const portableCipher: BatchCipherFactory = (key) => {
  const own = new Uint8Array(key);
  return sectionwise({
    sealInto: (nonce, plaintext, output) => {
      output.set(nonce);
      output.set(gcmsiv(own, nonce).encrypt(plaintext), NONCE_SIZE);
    },
    openInto: (sealed, output) => {
      const cipher = gcmsiv(own, sealed.subarray(0, NONCE_SIZE));
      try {
        output.set(cipher.decrypt(sealed.subarray(NONCE_SIZE)));
        return true;
      } catch {
        // With sizes as they are, the tag is the only thing that can be wrong.
        return false;
      }
    },
  });
};
