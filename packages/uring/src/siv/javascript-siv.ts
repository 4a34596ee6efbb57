import { gcmsiv } from "@noble/ciphers/aes.js";
import { SIV_KEY_SIZE, SIV_NONCE_SIZE, SIV_OVERHEAD, type SivBackend } from "./siv-backend.js";

/** For processors without the instructions and systems without the addon. Its AES reads tables: not constant in time. */
export const javascriptSiv: SivBackend = {
  name: "javascript",

  sealInto: (key, nonce, plaintext, output, associated) => {
    checkSize("key", key, SIV_KEY_SIZE);
    checkSize("nonce", nonce, SIV_NONCE_SIZE);
    checkSize("output", output, plaintext.length + SIV_OVERHEAD);
    checkApart(output, key, nonce, plaintext, associated);
    const sealed = gcmsiv(key, nonce, associated).encrypt(plaintext);
    output.set(nonce);
    output.set(sealed, SIV_NONCE_SIZE);
  },

  openInto: (key, sealed, output, associated) => {
    checkSize("key", key, SIV_KEY_SIZE);
    checkSize("output", output, sealed.length - SIV_OVERHEAD);
    checkApart(output, key, sealed, associated);
    const nonce = sealed.subarray(0, SIV_NONCE_SIZE);
    try {
      output.set(gcmsiv(key, nonce, associated).decrypt(sealed.subarray(SIV_NONCE_SIZE)));
      return true;
    } catch {
      // Sizes and types were checked before, so a wrong tag is all that is left.
      output.fill(0);
      return false;
    }
  },
};

function checkSize(name: string, bytes: Uint8Array, size: number): void {
  if (bytes.length !== size) {
    throw new RangeError(`${name} must be ${String(size)} bytes long, got ${String(bytes.length)}`);
  }
}

function checkApart(output: Uint8Array, ...inputs: readonly (Uint8Array | undefined)[]): void {
  if (inputs.some((input) => input !== undefined && overlap(output, input))) {
    throw new RangeError("output must be apart from the input");
  }
}

function overlap(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length === 0 || b.length === 0 || a.buffer !== b.buffer) return false;
  return a.byteOffset < b.byteOffset + b.length && b.byteOffset < a.byteOffset + a.length;
}
