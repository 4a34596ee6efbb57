/*
 * RFC 6455, 5.2. Numbers are big-endian.
 *
 *   byte 0     FIN 0x80 | RSV 0x70 | opcode 0x0f
 *   byte 1     MASK 0x80 | length 0x7f; 126: u16 follows, 127: u64 follows
 *   0, 2 or 8  length above 125
 *   0 or 4     masking key
 */

const LONG = 126;
const LONGER = 127;

/** Bytes of the header of a frame whose payload has `length` bytes. */
export function webSocketHeaderSize(length: number, isMasked: boolean): number {
  return (length < LONG ? 2 : length <= 0xffff ? 4 : 10) + (isMasked ? 4 : 0);
}

/** Writes the header of a whole message, or of a control frame, at the start of `target`; gives its size. */
export function writeWebSocketHeader(target: Uint8Array, opcode: number, length: number, key?: Uint8Array): number {
  const maskBit = key === undefined ? 0 : 0x80;
  target[0] = 0x80 | opcode;
  let at = 2;
  if (length < LONG) {
    target[1] = maskBit | length;
  } else if (length <= 0xffff) {
    target[1] = maskBit | LONG;
    target[2] = length >>> 8;
    target[3] = length & 0xff;
    at = 4;
  } else {
    target[1] = maskBit | LONGER;
    const high = Math.floor(length / 2 ** 32);
    for (let i = 0; i < 4; i++) {
      target[2 + i] = (high >>> (24 - 8 * i)) & 0xff;
      target[6 + i] = (length >>> (24 - 8 * i)) & 0xff;
    }
    at = 10;
  }
  if (key !== undefined) {
    target.set(key, at);
    at += 4;
  }
  return at;
}

/** The header of a frame as it arrived. */
export interface WebSocketHeader {
  readonly isFinal: boolean;
  readonly reserved: number;
  readonly opcode: number;
  readonly isMasked: boolean;
  /** Exact up to 2^53. */
  readonly length: number;
  /** The length was written with more bytes than it takes. */
  readonly isOverlong: boolean;
}

/** Size of the header that begins with these two bytes. */
export function sizeFromStart(second: number): number {
  const length = second & 0x7f;
  return 2 + (length === LONG ? 2 : length === LONGER ? 8 : 0) + ((second & 0x80) === 0 ? 0 : 4);
}

/** Reads a header that is there as a whole. */
export function readHeader(bytes: Uint8Array): WebSocketHeader {
  const [first = 0, second = 0] = bytes;
  const short = second & 0x7f;
  let length = short;
  if (short >= LONG) {
    const end = short === LONG ? 4 : 10;
    length = 0;
    for (let at = 2; at < end; at++) length = length * 256 + (bytes[at] ?? 0);
  }
  return {
    isFinal: (first & 0x80) !== 0,
    reserved: first & 0x70,
    opcode: first & 0x0f,
    isMasked: (second & 0x80) !== 0,
    length,
    isOverlong: (short === LONG && length < LONG) || (short === LONGER && length <= 0xffff),
  };
}
