import type { Codec } from "../codec/index.js";

/** `[flag u8][partition_id u32]`: flag 1 = given. Absent is written as zeros, and the id of an absent one is ignored. */
export const optionalPartition: Codec<number | null> = {
  type: "[flag u8][partition id u32]",
  minSize: 5,
  size: () => 5,
  write: (w, value) => {
    w.u8(value === null ? 0 : 1);
    w.u32(value ?? 0);
  },
  read: (r) => {
    const given = r.u8() === 1;
    const partitionId = r.u32();
    return given ? partitionId : null;
  },
  sample: (s) => (s.boolean() ? s.integer(0xffff_ffff) : null),
};
