import type { Hasher, PortableHashing } from "./hasher.js";

/** The hasher of a process without the addon. `name` says what the protocol package computes with. */
export function portableHasher(portable: PortableHashing, name: string): Hasher {
  return {
    name,
    xxh3_64: (bytes, offset, length) => portable.xxh3_64(bytes, offset, length),
    xxh3_64Into: (out, bytes, offset, length) => {
      portable.xxh3_64Into(out, bytes, offset, length);
    },
    createStream: () => new portable.Xxh3Stream(),
    verifyBatch: (bytes, offset, available) => portable.verifyBatch(bytes, offset, available),
    stampBatch: (bytes, offset, stamp) => {
      portable.stampBatch(bytes, offset, stamp);
    },
    verifyAndStampBatch: (bytes, offset, stamp, available) => {
      const length = portable.verifyBatch(bytes, offset, available);
      portable.stampBatch(bytes, offset, stamp);
      return length;
    },
  };
}
