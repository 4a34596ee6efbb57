import { blake3 } from "@noble/hashes/blake3.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** Random bytes and password hashes: what a primary settles before an operation enters the log. */
export interface Secrets {
  randomBytes(length: number): Uint8Array;
  /** PHC string of a new hash. */
  hashPassword(password: string): Promise<string>;
  /** Without a hash (an unknown user) it answers false at the cost of a comparison. */
  verifyPassword(password: string, hash: string | undefined): Promise<boolean>;
  /** Keys of new streams; without a server key to wrap them with there are none. */
  readonly streamKeys?: StreamKeys;
}

export interface StreamKeys {
  /**
   * The wrap set of a new stream: of the 32-byte key that its creator chose, or of one that is generated. Undefined when
   * the stream stays plain. The chosen key is only looked at before the promise settles.
   */
  wrapNew(chosen: Uint8Array | undefined): Promise<Uint8Array> | undefined;
}

/** What is stored of a personal access token: lower-case hex of BLAKE3-256 over its text. */
export const tokenHash = (token: string): string => bytesToHex(blake3(utf8ToBytes(token)));

/** Random bytes behind a token's text. */
export const TOKEN_BYTES = 50;
