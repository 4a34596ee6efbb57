import { gcmsiv } from "@noble/ciphers/aes.js";
import { type StreamCipher, TAG_SIZE } from "./stream-cipher.js";

/**
 * In JavaScript, for machines without the native code: correct, and slow. Nothing in Node.js 20 offers this algorithm.
 */
export function portableCipher(key: Uint8Array): StreamCipher {
  const own = new Uint8Array(key);
  return {
    seal: (nonce, plaintext, target) => {
      target.set(gcmsiv(own, nonce).encrypt(plaintext));
    },
    open: (nonce, sealed, target) => {
      if (sealed.length < TAG_SIZE) return false;
      try {
        target.set(gcmsiv(own, nonce).decrypt(sealed));
        return true;
      } catch {
        // The library gives one reason only: the tag.
        return false;
      }
    },
  };
}
