import { xxh3_64Into } from "@iggy/protocol";

/** How bytes are hashed and records verified: a native implementation may stand in for the portable one. */
export interface Checksums {
  /** XXH3-64 (seed 0) of a range: `out[0]` gets the low word, `out[1]` the high one. */
  hashInto(out: Uint32Array, bytes: Uint8Array, offset: number, length: number): void;
  /**
   * Whether a record is one whole batch: its layout, and the checksums of the batch and of every message. A record that
   * is refused is verified again in the portable way, which says what is wrong. Absent: that way only.
   */
  isIntact?(record: Uint8Array): boolean;
}

export const portableChecksums: Checksums = { hashInto: xxh3_64Into };
