const encoder = new TextEncoder();
// A byte order mark is text like any other: names are compared byte by byte.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes that `text` takes in UTF-8. A lone surrogate counts as the replacement character that encoding writes. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      length += 2;
      i++;
    } else length += 2;
  }
  return length;
}

export function writeUtf8(text: string, into: Uint8Array): number {
  return encoder.encodeInto(text, into).written;
}

export function encodeUtf8(text: string): Uint8Array {
  return encoder.encode(text);
}

const lossyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes UTF-8; bytes that are not become replacement characters. */
export function decodeUtf8Lossy(bytes: Uint8Array): string {
  return lossyDecoder.decode(bytes);
}

/**
 * Order of two texts by their UTF-8 bytes, which is the order of their code points. Comparing strings with `<` compares
 * UTF-16 units and differs where a surrogate pair meets U+E000..U+FFFF.
 */
export function compareUtf8(left: string, right: string): number {
  const end = Math.min(left.length, right.length);
  for (let i = 0; i < end; i++) {
    const a = left.charCodeAt(i);
    const b = right.charCodeAt(i);
    if (a === b) continue;
    const aPair = a >= 0xd800 && a < 0xe000;
    const bPair = b >= 0xd800 && b < 0xe000;
    return aPair === bPair ? a - b : aPair ? 1 : -1;
  }
  return left.length - right.length;
}

/** Decodes UTF-8, or returns undefined for bytes that are not. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  // Names are short and mostly ASCII, where this loop beats the decoder object.
  if (bytes.length <= 32) {
    let text = "";
    let i = 0;
    for (; i < bytes.length; i++) {
      const byte = bytes[i] ?? 0;
      if (byte >= 0x80) break;
      text += String.fromCharCode(byte);
    }
    if (i === bytes.length) return text;
  }
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
