const standardChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const urlChars = `${standardChars.slice(0, 62)}-_`;

const valuesOf = (chars: string): ReadonlyMap<string, number> =>
  new Map(Array.from(chars, (char, value) => [char, value]));
const standardValues = valuesOf(standardChars);
const urlValues = valuesOf(urlChars);

function encodeWith(chars: string, bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const count = Math.min(4, bytes.length - i + 1);
    for (let c = 0; c < count; c++) text += chars.charAt((group >> (18 - 6 * c)) & 63);
  }
  return text;
}

function decodeWith(values: ReadonlyMap<string, number>, text: string): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let group = 0;
  let bits = 0;
  let at = 0;
  for (const char of text) {
    const value = values.get(char);
    if (value === undefined) return undefined;
    group = ((group << 6) | value) & 0xfff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (group >> bits) & 0xff;
    }
  }
  // Bits beyond the last byte must be zero, so that the text is the one that encoding the bytes gives.
  return (group & ((1 << bits) - 1)) === 0 ? bytes : undefined;
}

/** Standard base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  const text = encodeWith(standardChars, bytes);
  return text.padEnd(Math.ceil(text.length / 4) * 4, "=");
}

/** Bytes of canonical standard base64 with padding; anything that encoding would not give is undefined. */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  return decodeWith(standardValues, text.replace(/={1,2}$/, ""));
}

/** Base64 of the URL alphabet without padding. */
export const encodeBase64Url = (bytes: Uint8Array): string => encodeWith(urlChars, bytes);

/** Bytes of canonical base64url without padding; anything that encoding would not give is undefined. */
export const decodeBase64Url = (text: string): Uint8Array | undefined => decodeWith(urlValues, text);
