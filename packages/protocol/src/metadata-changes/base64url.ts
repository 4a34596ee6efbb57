const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const valueOf = new Map(Array.from(alphabet, (char, value) => [char, value]));

/** Base64 of the URL alphabet without padding. */
export function encodeBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const chars = Math.min(4, bytes.length - i + 1);
    for (let c = 0; c < chars; c++) text += alphabet.charAt((group >> (18 - 6 * c)) & 63);
  }
  return text;
}

/** Bytes of canonical text: re-encoding them must give it back. Everything else is undefined. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let group = 0;
  let bits = 0;
  let at = 0;
  for (const char of text) {
    const value = valueOf.get(char);
    if (value === undefined) return undefined;
    group = ((group << 6) | value) & 0xfff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (group >> bits) & 0xff;
    }
  }
  return (group & ((1 << bits) - 1)) === 0 ? bytes : undefined;
}
