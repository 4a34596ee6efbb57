import { blake3 } from "@noble/hashes/blake3.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";

/** Domain tag of a cluster in every frame and record: the first 16 bytes of BLAKE3 over its name, little-endian. */
export function clusterIdOf(name: string): bigint {
  const digest = blake3(utf8ToBytes(name));
  const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
  return view.getBigUint64(0, true) | (view.getBigUint64(8, true) << 64n);
}
