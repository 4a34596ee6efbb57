import { Reader, WireError } from "../codec/index.js";
import { limits } from "../enums/index.js";

export interface Result {
  /** 0, or the error code of the refusal. */
  readonly code: number;
  /** What follows the section; empty in a refusal. */
  readonly payload: Uint8Array;
}

/**
 * Puts the result section before the payload of a result-framed reply.
 *
 *   success = count u32 (0) · payload
 *   refusal = count u32 (1) · index u32 (0) · result u32
 */
export function encodeResult(code: number, payload: Uint8Array = new Uint8Array(0)): Uint8Array {
  if (code === 0) {
    const body = new Uint8Array(4 + payload.length);
    body.set(payload, 4);
    return body;
  }
  const body = new Uint8Array(limits.rejectionSectionSize);
  const view = new DataView(body.buffer);
  view.setUint32(0, 1, true);
  view.setUint32(8, code, true);
  return body;
}

/**
 * Splits a result section off. With several entries the first one decides. A body too short for the entries that it
 * claims is malformed (3): a cut section must never read as success.
 */
export function decodeResult(body: Uint8Array): Result {
  const reader = new Reader(body);
  const count = reader.u32();
  if (count === 0) return { code: 0, payload: reader.rest() };
  if (count * 8 > reader.remaining) {
    throw new WireError("UnexpectedEof", `a result section of ${String(count)} entries is cut short`, 4);
  }
  const entries = new Reader(body, reader.offset);
  entries.advance(4);
  const code = entries.u32();
  // A refusal that claims code 0 proves nothing; it is no success either.
  if (code === 0) throw new WireError("Validation", "a result entry refuses with code 0", 8);
  reader.advance(count * 8);
  return { code, payload: reader.rest() };
}
