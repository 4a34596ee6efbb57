export type { BatchStamp, Hasher, HashStream, PortableHashing } from "./hasher.js";
export { FAULT, isNativeHash, type NativeHash, type Outcome, OUTCOME_SIZE } from "./native-hash.js";
export { nativeHasher } from "./native-hasher.js";
export { portableHasher } from "./portable-hasher.js";
